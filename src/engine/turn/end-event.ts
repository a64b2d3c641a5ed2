// engine/turn: the webhook that a context owes when it has ended, made in the turn that ends it: its URL, and the event
// that it tells, redacted as views are. Whatever can't be made is left out: the context ends all the same.
import type { Scope, Turn } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux, OnEnd } from '../../definitions/flux.ts'
import { spendOn, WorkBudget } from '../../definitions/work-budget.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import { messageOf } from '../../model/error-message.ts'
import { getOwn, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { StoredContext } from '../../ports/store.ts'
import { LIGHT_BYTES, weightOf } from '../contexts/context-loader.ts'
import { waitTextOf } from '../interpreter/choose.ts'
import { decodeRecord } from '../record/decode.ts'
import { redactorOf } from '../redact/redactor.ts'
import type { TrackedContext } from './tracked-context.ts'
import { rowsOfOwed, type OwedWebhook } from '../on-end/end-rows.ts'

export interface EndEnv {
  readonly partitions: number
  readonly turn: Turn
}

const NO_ROWS: readonly RowWrite[] = []

/** The rows of the webhooks that those contexts owe since this turn. */
export function endRowsOf(
  contexts: ReadonlyMap<ContextId, Pick<TrackedContext, 'before' | 'record' | 'flux'>>,
  env: EndEnv,
): readonly RowWrite[] {
  let rows: RowWrite[] | null = null
  for (const { before, record, flux } of contexts.values()) {
    if (flux.onEnd === null || !isFinished(record.status) || (before !== null && isFinished(before.status))) continue
    rows ??= []
    rows.push(...owedRows(record, flux.onEnd, { ...env, flux, event: eventOf(record, flux) }))
  }
  return rows ?? NO_ROWS
}

/**
 * The same for a context that is ended without reading its data, which may be the cause of its end. Only a small context
 * is read all the same; of another one, only that is sent which is in its head and can be no secret of its request.
 *
 * @param record after its end; its data may be missing
 */
export function endRowsWithoutTurn(
  { parts, record, flux }: { parts: StoredContext['parts']; record: ContextRecord; flux: CompiledFlux },
  env: EndEnv,
): readonly RowWrite[] {
  if (flux.onEnd === null || !isFinished(record.status)) return NO_ROWS
  const data = weightOf(parts) <= LIGHT_BYTES ? decodeOrNull({ ...record, parts }) : null
  if (data) {
    const { input, output, states, request, inheritedSecrets } = data
    const whole = { ...record, input, output, states, request, inheritedSecrets }
    return owedRows(whole, flux.onEnd, { ...env, flux, event: eventOf(whole, flux) })
  }
  const mayHaveSecrets = parts['request'] !== undefined || parts['inheritedSecrets'] !== undefined || flux.isSensitive
  const event = mayHaveSecrets
    ? bareEvent(record)
    : eventOf({ ...record, request: null, inheritedSecrets: null }, flux, false)
  return owedRows(record, flux.onEnd, { ...env, flux, event, isUnread: true })
}

function decodeOrNull(stored: Pick<StoredContext, 'id' | 'version' | 'parts'>): ContextRecord | null {
  try {
    return decodeRecord(stored)
  } catch {
    return null
  }
}

interface Told extends EndEnv {
  readonly flux: CompiledFlux
  readonly event: JsonObject
  /** The record lacks its data. */
  readonly isUnread?: boolean
}

function owedRows(
  record: ContextRecord,
  { url: template, secret }: OnEnd,
  { partitions, turn, flux, event, isUnread = false }: Told,
): RowWrite[] {
  const { id: contextId, package: owner, fluxName, endedAt, retries } = record
  const webhook: OwedWebhook = {
    contextId,
    retries,
    package: owner,
    fluxName,
    ...(isUnread && template.names.size > 0 ? UNREAD : urlOf(template, record, { turn, flux })),
    secret,
    body: JSON.stringify(event),
  }
  return rowsOfOwed(webhook, { partitions, due: Math.ceil(endedAt ?? turn.now) })
}

const UNREAD = { url: null, fault: 'the inputs of the context were not read, since they may have ended servers' }

/** The URL over the inputs, with a work budget of its own: that of the turn may be spent. */
function urlOf(
  template: OnEnd['url'],
  { input, request, trackerId, trigger }: ContextRecord,
  { turn, flux: { fluxName } }: { readonly turn: Turn; readonly flux: CompiledFlux },
): Pick<OwedWebhook, 'url' | 'fault'> {
  const names: { [name: string]: Json | undefined } = {
    $request: request ?? undefined,
    $fluxName: fluxName,
    $trackerId: trackerId,
    $triggerFluxEvent: trigger ?? undefined,
  }
  const scope: Scope = { turn, budget: new WorkBudget(), get: (name) => getOwn(input, name) ?? getOwn(names, name) }
  try {
    const value = template.evaluate(scope)
    spendOn(value, scope.budget)
    return { url: waitTextOf(value) ?? '', fault: null }
  } catch (error) {
    return { url: null, fault: messageOf(error) }
  }
}

/** What is sent of the end. */
function eventOf(record: ContextRecord, flux: CompiledFlux, hasOutput = true): JsonObject {
  try {
    const redactor = redactorOf(record, flux)
    const shown = redactor.values(flux.output, record.output)
    const output: JsonObject = {}
    for (const name of flux.output.properties.keys()) setOwn(output, name, getOwn(shown, name) ?? null)
    return eventWith(record, {
      key: record.key === null ? null : redactor.text(record.key),
      tags: record.tags.map((tag) => redactor.text(tag)),
      output: hasOutput ? output : null,
      error: record.error && { ...redactor.error(record.error) },
    })
  } catch {
    return bareEvent(record)
  }
}

/** What is sent where nothing can be redacted. */
const bareEvent = (record: ContextRecord): JsonObject =>
  eventWith(record, { key: null, tags: null, output: null, error: null })

/** The data in the order of the documentation. */
function eventWith(
  { id: contextId, package: owner, fluxName, status, endedAt, updatedAt }: ContextRecord,
  { key, tags, output, error }: { key: string | null; tags: string[] | null; output: Json; error: Json },
): JsonObject {
  return {
    type: `context.${status.toLowerCase()}`,
    timestamp: new Date(endedAt ?? updatedAt).toISOString(),
    data: { contextId, package: owner, fluxName, status, key, tags, output, error },
  }
}
