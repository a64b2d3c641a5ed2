// cli/remote: `actorflux webhook list`, `deliveries` and `replay`.
import { CALLS } from '../../../api/calls.ts'
import { EXIT } from '../../command.ts'
import { checked, fieldsIn, noWords, optionsFor, wordIn } from '../arguments.ts'
import type { RemoteCommand } from '../remote.ts'
import { plain, timeText, type Style } from '../text.ts'

export const webhookListCommand: RemoteCommand = {
  usage: 'webhook list',
  summary: 'list the endpoints of webhooks, with what became of their deliveries',
  async run({ words }, { client, table, answer, isJson }) {
    noWords(words)
    const webhooks = await client.listWebhooks()
    if (isJson) for (const webhook of webhooks) answer(webhook, () => [])
    else
      answer(webhooks, () =>
        table(
          ['PATH', 'METHODS', 'SERVICE', 'SCHEME', 'ACCEPTED', 'OTHERS', 'LAST'],
          webhooks.map(({ urlPath, httpMethods, package: owner, fluxName, scheme, counts, last }) => [
            { text: `/api${urlPath}` },
            { text: httpMethods.join(', ') },
            { text: `${owner}/${fluxName}` },
            { text: scheme ?? '–' },
            { text: String(counts.accepted) },
            { text: String(Object.values(counts).reduce((sum, count) => sum + count, 0) - counts.accepted) },
            { text: last === null ? '–' : `${last.outcome}, ${timeText(last.time)}` },
          ]),
        ),
      )
    return EXIT.fine
  },
}

const toneOf = (outcome: string): Style => {
  if (outcome === 'accepted') return 'green'
  return ['duplicate', 'filtered', 'handshake', 'ignored'].includes(outcome) ? 'dim' : 'red'
}

export const deliveriesCommand: RemoteCommand = {
  usage: 'webhook deliveries',
  summary: 'list deliveries to webhooks, newest first',
  options: optionsFor(CALLS.listDeliveries.query),
  async run({ words, values }, { client, table, answer, isJson }) {
    noWords(words)
    const listed = await client.listDeliveries(
      checked(CALLS.listDeliveries, fieldsIn(CALLS.listDeliveries.query, values)),
    )
    if (isJson) for (const delivery of listed) answer(delivery, () => [])
    else
      answer(listed, () =>
        table(
          ['DELIVERY', 'TIME', 'PATH', 'OUTCOME', 'STATUS', 'CONTEXT', 'REASON'],
          listed.map(({ deliveryId, time, urlPath, outcome, status, contextId, reason }) => [
            { text: deliveryId },
            { text: timeText(time) },
            { text: `/api${urlPath}` },
            { text: outcome, style: toneOf(outcome) },
            { text: String(status ?? '–') },
            { text: String(contextId ?? '–') },
            { text: reason ?? '' },
          ]),
        ),
      )
    return EXIT.fine
  },
}

export const replayCommand: RemoteCommand = {
  usage: 'webhook replay <delivery>',
  summary: 'send a delivery again, without verification, and although it is a repeat',
  async run({ words }, { client, answer }) {
    const replayed = await client.replayDelivery({ deliveryId: wordIn(words, 'delivery') })
    const { deliveryId, status, contextId } = replayed
    answer(replayed, () => [plain(`${deliveryId}  ${status}${contextId === null ? '' : `  context ${contextId}`}`)])
    return EXIT.fine
  },
}
