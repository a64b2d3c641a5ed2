// definitions: compiles `send` of a webhook: the event that is sent instead of starting the service.
import { isObject, type Json } from '../../model/json/value.ts'
import type { Expression } from '../expressions/expression.ts'
import type { Report } from '../report.ts'
import { takeStrictly } from '../source/take.ts'
import { OrStartSchema, RECEIVERS, SendSchema } from '../source/webhook-schema.ts'
import { compileRequestExpression } from './request-expression.ts'

/** At most one of `contextId`, `key` and `tags` is given; without any, the event is for all. */
export interface WebhookSend {
  readonly event: Expression
  readonly contextId: Expression | null
  readonly key: Expression | null
  /** A list of tags, or one tag. */
  readonly tags: Expression | null
  /** null: the event has no input. */
  readonly input: Expression | null
  /** The service whose keys are meant; null: the one of the webhook. */
  readonly package: string | null
  readonly fluxName: string | null
  /** What is started when there is none of that key: this service, another one, or, if null, nothing. */
  readonly orStart: 'self' | WebhookStart | null
}

/** null: this service's package, this service; none of what expressions give. */
export interface WebhookStart {
  readonly package: string | null
  readonly fluxName: string | null
  readonly input: Expression | null
  readonly tags: Expression | null
}

/** null after a fault, which is reported. */
export function compileSend(source: Json, pointer: string, report: Report): WebhookSend | null {
  const send = takeStrictly(SendSchema, source, pointer, report)
  if (send === null) return null
  const expression = (key: 'event' | 'contextId' | 'key' | 'tags' | 'input') =>
    compileRequestExpression(send[key], `${pointer}/${key}`, report)
  const event = expression('event')
  if (send.event == null) report.fault(`${pointer}/event`, 'there is no event')
  const named = RECEIVERS.filter((key) => send[key] != null)
  for (const key of named.slice(1))
    report.fault(`${pointer}/${key}`, `${named.join(' and ')} can't stand together: the event is for one of them`)
  if (send.key == null && (send.fluxName ?? send.package) != null)
    report.warn(pointer, 'fluxName and package have no effect without a key')
  const orStart = compileOrStart(send.orStart, `${pointer}/orStart`, report)
  if (orStart !== null && send.key == null)
    report.fault(`${pointer}/orStart`, 'needs a key: it starts what is missing under that key')
  const [contextId, key, tags] = [expression('contextId'), expression('key'), expression('tags')]
  const { package: owner = null, fluxName = null } = send
  return event && { event, contextId, key, tags, input: expression('input'), package: owner, fluxName, orStart }
}

/** Reports events that each delivery would be refused for: whose key is not one of the service that `orStart` starts. */
export function checkStarted(
  webhooks: readonly { readonly pointer: string; readonly send: WebhookSend | null }[],
  own: { readonly package: string; readonly fluxName: string },
  report: Report,
): void {
  for (const { pointer, send } of webhooks) {
    if (send === null || send.orStart === null) continue
    const started = send.orStart === 'self' ? own : send.orStart
    for (const key of ['fluxName', 'package'] as const)
      if (send[key] !== null && started[key] !== null && send[key] !== started[key])
        report.fault(
          `${pointer}/send/${key}`,
          `must be "${started[key]}", or be left out: orStart starts what has the key`,
        )
  }
}

function compileOrStart(source: Json | undefined, pointer: string, report: Report): WebhookSend['orStart'] {
  if (source === undefined || source === null || source === false) return null
  if (source === true) return 'self'
  if (!isObject(source)) {
    report.fault(pointer, 'must be true, or an object')
    return null
  }
  const start = takeStrictly(OrStartSchema, source, pointer, report)
  return (
    start && {
      package: start.package ?? null,
      fluxName: start.fluxName ?? null,
      input: compileRequestExpression(start.input, `${pointer}/input`, report),
      tags: compileRequestExpression(start.tags, `${pointer}/tags`, report),
    }
  )
}
