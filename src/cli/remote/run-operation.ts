// cli/remote: an operation on all contexts that match, with its progress.
import { setTimeout as sleep } from 'node:timers/promises'
import { contextFilters } from '../../api/context-lists.ts'
import { CALLS } from '../../api/calls.ts'
import type { OperationView } from '../../api/operations.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { EXIT, flagOption, textOption, UsageError, type Given } from '../command.ts'
import { withBar } from '../progress-bar.ts'
import { checked, fieldsIn, jsonIn, optionsFor } from './arguments.ts'
import type { Remote } from './remote.ts'
import { plain, plainJson } from './text.ts'

const FILTERS = contextFilters('those that have not ended')

/** Options that say which contexts are meant. */
export const MANY = { ...optionsFor(FILTERS), all: flagOption('all unfinished contexts') }

/** Options of an operation on all that match. */
export const OPERATION = {
  yes: flagOption('carry it out; without it, only the number of contexts is shown'),
  rate: textOption('number', 'contexts per second, at most; 1,000 if left out'),
}

/** Options of an operation that has fields of its own. */
export const TOLD_OPERATION = {
  ...OPERATION,
  with: textOption('json|@file|-', 'further fields of the operation, as JSON'),
}

/** Milliseconds between two looks at its progress. */
const LOOK_MS = 250

/** Starts it, and shows how far it is until it has ended. @throws UsageError without `--yes` */
export async function runOperation(
  kind: 'terminate' | 'tag' | 'untag' | 'retry' | 'pause' | 'resume',
  known: JsonObject,
  { values }: Given<typeof TOLD_OPERATION>,
  remote: Remote,
): Promise<number> {
  const { client, world } = remote
  const more = (await jsonIn(values.with, 'with', world)) ?? {}
  const twice = Object.keys(more).find((name) => Object.hasOwn(known, name))
  if (twice !== undefined) throw new UsageError(`--with has ${twice}, which is given besides`)
  const extra = { ...known, ...more }
  const request = checked(CALLS.startOperation, {
    filter: fieldsIn(FILTERS, values),
    do: kind,
    ...(Object.keys(extra).length > 0 && { with: extra }),
    rate: values.rate,
  })
  if (!values.yes) {
    if (world.screen === null) throw new UsageError(`${kind} of all that match needs --yes`)
    const { matched } = await client.startOperation({ ...request, dryRun: true })
    throw new UsageError(`${matched} contexts match; with --yes, ${kind} is done to them`)
  }
  const { operationId = '' } = await client.startOperation(request)
  const operation = await followed(operationId, remote)
  remote.answer(operation, () => endLines(operation))
  return operation.failed > 0 || operation.status === 'stopped' ? EXIT.failed : EXIT.fine
}

/** Resolves with the operation once it has ended. A program is told of its progress as lines. */
function followed(operationId: string, { client, world, isJson }: Remote) {
  const signal = world.interrupted()
  return withBar({ progress: isJson ? null : world.progress }, async (show) => {
    for (let before = -1; ; await sleep(LOOK_MS)) {
      const operation = await client.getOperation({ operationId })
      if (operation.status !== 'running') return operation
      if (signal.aborted)
        throw new Error(`the operation ${operationId} goes on: actorflux operation stop ${operationId}`)
      show(operation.done, operation.matched)
      if (isJson && operation.done !== before) world.out(plainJson(operation))
      before = operation.done
    }
  })
}

function endLines({ do: kind, status, done, matched, changed, failed, errors }: OperationView) {
  const head = `${kind}: ${status}, ${done} of ${matched}, ${changed} changed, ${failed} failed`
  return [plain(head), ...errors.map(({ contextId, detail }) => `  ${contextId}  ${plain(detail)}`)]
}
