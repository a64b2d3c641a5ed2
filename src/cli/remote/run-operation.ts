// cli/remote: an operation on all contexts that match, with its progress.
import { setTimeout as sleep } from 'node:timers/promises'
import { contextFilters } from '../../api/context-lists.ts'
import { MIN_RATE } from '../../api/operations.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { EXIT, UsageError } from '../command.ts'
import { barOn } from '../progress-bar.ts'
import { fieldsIn, optionText, type Given } from './arguments.ts'
import { jsonArgumentOf } from './json-argument.ts'
import type { Remote } from './remote.ts'
import { plainJson, plain } from './text.ts'

export type OperationKind = 'terminate' | 'tag' | 'untag' | 'retry' | 'pause' | 'resume'

export type Operation = Awaited<ReturnType<Remote['client']['getOperation']>>

/** Milliseconds between two looks at its progress. */
const LOOK_MS = 250

/** Starts it, and shows how far it is until it has ended. @throws UsageError without `--yes` */
export async function runOperation(
  kind: OperationKind,
  known: JsonObject,
  { values }: Given,
  remote: Remote,
): Promise<number> {
  const { client, world } = remote
  const given = optionText(values, 'with')
  const more = given === undefined ? {} : await jsonArgumentOf(given, 'with', world)
  const twice = Object.keys(more).find((name) => Object.hasOwn(known, name))
  if (twice !== undefined) throw new UsageError(`--with has ${twice}, which is given besides`)
  const extra = { ...known, ...more }
  const request = {
    filter: fieldsIn(contextFilters(''), values),
    do: kind,
    ...(Object.keys(extra).length > 0 && { with: extra }),
    ...rateIn(optionText(values, 'rate')),
  }
  if (values['yes'] !== true) {
    if (world.screen === null) throw new UsageError(`${kind} of all that match needs --yes`)
    const { matched } = await client.startOperation({ ...request, dryRun: true })
    throw new UsageError(`${matched} contexts match; with --yes, ${kind} is done to them`)
  }
  const { operationId = '' } = await client.startOperation(request)
  const operation = await followed(operationId, remote)
  remote.answer(operation, () => endLines(operation))
  return operation.failed > 0 || operation.status === 'stopped' ? EXIT.failed : EXIT.fine
}

/** @throws UsageError */
function rateIn(text: string | undefined): { rate?: number } {
  if (text === undefined) return {}
  const rate = Number(text)
  if (!Number.isFinite(rate) || rate < MIN_RATE) throw new UsageError(`--rate must be a number, at least ${MIN_RATE}`)
  return { rate }
}

/** Resolves with the operation once it has ended. A program is told of its progress as lines. */
async function followed(operationId: string, { client, world, isJson }: Remote): Promise<Operation> {
  const bar = isJson || world.progress === null ? null : barOn(world.progress)
  const signal = world.interrupted()
  let begun = false
  try {
    for (let before = -1; ; await sleep(LOOK_MS)) {
      const operation = await client.getOperation({ operationId })
      if (operation.status !== 'running') return operation
      if (signal.aborted)
        throw new Error(`the operation ${operationId} goes on: actorflux operation stop ${operationId}`)
      if (bar !== null && !begun) bar.start(operation.matched, operation.done)
      begun = true
      bar?.update(operation.done)
      if (isJson && operation.done !== before) world.out(plainJson(operation))
      before = operation.done
    }
  } finally {
    bar?.stop()
  }
}

function endLines({ do: kind, status, done, matched, changed, failed, errors }: Operation): string[] {
  const head = `${kind}: ${status}, ${done} of ${matched}, ${changed} changed, ${failed} failed`
  return [plain(head), ...errors.map(({ contextId, detail }) => `  ${contextId}  ${plain(detail)}`)]
}
