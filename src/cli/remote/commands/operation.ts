// cli/remote: `actorflux operation …`: operations on many contexts.
import { EXIT } from '../../command.ts'
import { noWords, wordIn } from '../arguments.ts'
import type { Remote, RemoteCommand } from '../remote.ts'
import type { Operation } from '../run-operation.ts'
import { plain, timeText, type Cell, type Style } from '../text.ts'

const STYLES: { readonly [status: string]: Style } = { running: 'blue', done: 'green', stopped: 'yellow' }
const HEADS = ['OPERATION', 'DO', 'STATUS', 'DONE', 'CHANGED', 'FAILED', 'STARTED']

const rowOf = ({ operationId, do: kind, status, done, matched, changed, failed, startedAt }: Operation): Cell[] => [
  { text: operationId },
  { text: kind },
  { text: status, style: STYLES[status] },
  { text: `${done} of ${matched}` },
  { text: String(changed) },
  { text: String(failed), style: failed > 0 ? 'red' : undefined },
  { text: timeText(startedAt) },
]

export const listOperationsCommand: RemoteCommand = {
  usage: 'operation list',
  summary: 'list operations on many contexts, the newest first',
  async run({ words }, { client, answer, isJson, table }) {
    noWords(words)
    const operations = await client.listOperations()
    if (isJson) for (const operation of operations) answer(operation, () => [])
    else answer(operations, () => (operations.length === 0 ? ['No operation.'] : table(HEADS, operations.map(rowOf))))
    return EXIT.fine
  },
}

export const showOperationCommand: RemoteCommand = {
  usage: 'operation show <operation>',
  summary: 'show how far an operation is, and its first errors',
  async run({ words }, remote) {
    const operation = await remote.client.getOperation({ operationId: wordIn(words, 'operation') })
    remote.answer(operation, () => operationLines(operation, remote))
    return EXIT.fine
  },
}

export const stopOperationCommand: RemoteCommand = {
  usage: 'operation stop <operation>',
  summary: 'stop an operation; what it has changed stays changed',
  async run({ words }, remote) {
    const stopped = await remote.client.stopOperation({ operationId: wordIn(words, 'operation') })
    remote.answer(stopped, () => [`stopped ${wordIn(words, 'operation')}`])
    return EXIT.fine
  },
}

const operationLines = (operation: Operation, { table }: Remote): string[] => [
  ...table(HEADS, [rowOf(operation)]),
  ...(operation.errors.length === 0 ? [] : ['']),
  ...operation.errors.map(({ contextId, detail }) => `${contextId}  ${plain(detail)}`),
]
