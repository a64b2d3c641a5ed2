// cli/remote: `actorflux operation …`: operations on many contexts.
import type { OperationView } from '../../../api/operations.ts'
import { remote } from '../remote.ts'
import { plain, timeText, type Cell, type Style } from '../text.ts'

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

export const operation = {
  list: remote({
    summary: 'list operations on many contexts, the newest first',
    async run(_, { client, answerList, table }) {
      const operations = await client.listOperations()
      answerList(operations, () => (operations.length === 0 ? ['No operation.'] : table(HEADS, operations.map(rowOf))))
    },
  }),
  show: remote({
    summary: 'show the progress of an operation, and its first errors',
    word: '<operation>',
    async run({ word }, { client, answer, table }) {
      const operation = await client.getOperation({ operationId: word })
      const errors = operation.errors.map(({ contextId, detail }) => `${contextId}  ${plain(detail)}`)
      answer(operation, () => [...table(HEADS, [rowOf(operation)]), ...(errors.length === 0 ? [] : ['', ...errors])])
    },
  }),
  stop: remote({
    summary: 'stop an operation; what it has changed stays changed',
    word: '<operation>',
    async run({ word }, { client, answer }) {
      const stopped = await client.stopOperation({ operationId: word })
      answer(stopped, () => [`stopped ${word}`])
    },
  }),
}
