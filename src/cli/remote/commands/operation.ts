// cli/remote: operations on many contexts: `actorflux operation …`, and how other commands start one, and show its progress
// until it has ended.
import { setTimeout as sleep } from 'node:timers/promises'
import { CALLS } from '../../../api/calls.ts'
import { contextFilters } from '../../../api/context-lists.ts'
import type { OperationView } from '../../../api/operations.ts'
import type { JsonObject } from '../../../model/json/value.ts'
import { EXIT, flagOption, textOption, UsageError, type Given } from '../../command.ts'
import { withBar } from '../../progress-bar.ts'
import { checked, fieldsIn, jsonIn, optionsFor } from '../arguments.ts'
import { rehearsalLines } from '../rehearsing.ts'
import { remote, type Remote } from '../remote.ts'
import { plain, plainJson, timeText, type Cell, type Style } from '../text.ts'

const STYLES: { readonly [status: string]: Style } = { running: 'blue', done: 'green', stopped: 'yellow' }
const HEADS = ['OPERATION', 'DO', 'STATUS', 'DONE', 'CHANGED', 'FAILED', 'STARTED']

const rowOf = ({ operationId, do: kind, status, done, matched, changed, failed, startedAt }: OperationView): Cell[] => [
  operationId,
  kind,
  { text: status, style: STYLES[status] },
  `${done} of ${matched}`,
  changed,
  { text: String(failed), style: failed > 0 ? 'red' : undefined },
  timeText(startedAt),
]

const answerWith = (operation: OperationView, { answer, table }: Remote) =>
  answer(operation, ({ errors }) => [
    ...table(HEADS, [rowOf(operation)]),
    ...errors.map(({ contextId, detail }) => plain(`  ${contextId}  ${detail}`)),
  ])

export const operation = {
  list: remote({
    summary: 'list operations on many contexts, the newest first',
    async run(_, { client, answer, table }) {
      answer(await client.listOperations(), (operations) =>
        operations.length === 0 ? ['No operation.'] : table(HEADS, operations.map(rowOf)),
      )
    },
  }),
  show: remote({
    summary: 'show the progress of an operation, and its first errors',
    word: '<operation>',
    run: async ({ word }, remote) => answerWith(await remote.client.getOperation({ operationId: word }), remote),
  }),
  stop: remote({
    summary: 'stop an operation; what it has changed stays changed',
    word: '<operation>',
    async run({ word }, { client, answer }) {
      answer(await client.stopOperation({ operationId: word }), () => [`stopped ${word}`])
    },
  }),
}

const FILTERS = contextFilters('those that have not ended')

/** Options that say which contexts are meant. */
export const MANY = { ...optionsFor(FILTERS), all: flagOption('all unfinished contexts') }

/** Options of an operation on all that match. */
export const OPERATION = {
  yes: flagOption('carry it out; without it, only the number of contexts is shown'),
  rate: textOption('number', 'contexts per second, at most; 1,000 if left out'),
}

/** Options of an operation that has fields of its own. */
export const OPERATION_WITH = {
  ...OPERATION,
  with: textOption('json|@file|-', 'further fields of the operation, as JSON'),
}

/** Milliseconds between two looks at its progress. */
const POLL_MS = 250

/** Starts it, and shows how far it is until it has ended. @throws UsageError without `--yes` */
export async function runOperation(
  kind: 'terminate' | 'tag' | 'untag' | 'retry' | 'pause' | 'resume',
  known: JsonObject,
  { values }: Given<typeof OPERATION_WITH>,
  remote: Remote,
  how: { readonly dryRun?: boolean; readonly assume?: JsonObject },
): Promise<number> {
  const { client, io, isJson } = remote
  const more = (await jsonIn(values.with, 'with', io)) ?? {}
  const twice = Object.keys(more).find((name) => Object.hasOwn(known, name))
  if (twice !== undefined) throw new UsageError(`--with has ${twice}, which is given besides`)
  const request = checked(CALLS.startOperation, {
    filter: fieldsIn(FILTERS, values),
    do: kind,
    with: { ...known, ...more },
    rate: values.rate,
    ...how,
  })
  if (how.dryRun) {
    remote.answer(await client.startOperation(request), (answer) => rehearsalLines(answer, remote) ?? [])
    return EXIT.fine
  }
  if (!values.yes) {
    if (io.screen === null) throw new UsageError(`${kind} of all that match needs --yes`)
    const { matched } = await client.startOperation({ ...request, dryRun: true })
    throw new UsageError(`${matched} contexts match; with --yes, ${kind} is done to them`)
  }
  const { operationId = '' } = await client.startOperation(request)
  const signal = io.interrupted()
  // A program is told of its progress as lines.
  const operation = await withBar(isJson ? null : io.progress, async (show) => {
    for (let before = -1; ; await sleep(POLL_MS)) {
      const current = await client.getOperation({ operationId })
      if (current.status !== 'running') return current
      if (signal.aborted)
        throw new Error(`the operation ${operationId} goes on: actorflux operation stop ${operationId}`)
      show(current.done, current.matched)
      if (isJson && current.done !== before) io.out(plainJson(current))
      before = current.done
    }
  })
  answerWith(operation, remote)
  return operation.failed > 0 || operation.status === 'stopped' ? EXIT.failed : EXIT.fine
}
