// cli/remote: `actorflux webhook list`, `deliveries`, `replay` and `test`.
import { CALLS } from '../../../api/calls.ts'
import { checked, optionsFor } from '../arguments.ts'
import { testWebhook } from '../../webhook-test.ts'
import { remote } from '../remote.ts'
import { plain, timeText, type Style } from '../text.ts'

const styleOf = (outcome: string): Style => {
  if (outcome === 'accepted') return 'green'
  return ['duplicate', 'filtered', 'handshake', 'ignored'].includes(outcome) ? 'dim' : 'red'
}

export const webhook = {
  list: remote({
    summary: 'list webhooks, with counts of their deliveries by outcome',
    async run(_, { client, table, answer }) {
      answer(await client.listWebhooks(), (webhooks) =>
        table(
          ['PATH', 'METHODS', 'SERVICE', 'SCHEME', 'ACCEPTED', 'OTHERS', 'LAST'],
          webhooks.map(({ urlPath, httpMethods, package: owner, fluxName, scheme, counts, last }) => [
            `/api${urlPath}`,
            httpMethods.join(', '),
            `${owner}/${fluxName}`,
            scheme ?? '–',
            counts.accepted,
            Object.values(counts).reduce((sum, count) => sum + count, 0) - counts.accepted,
            last === null ? '–' : `${last.outcome}, ${timeText(last.time)}`,
          ]),
        ),
      )
    },
  }),
  deliveries: remote({
    summary: 'list deliveries to webhooks, newest first',
    options: optionsFor(CALLS.listDeliveries.query),
    async run({ values }, { client, table, answer }) {
      answer(await client.listDeliveries(checked(CALLS.listDeliveries, {}, values)), (deliveries) =>
        table(
          ['DELIVERY', 'TIME', 'PATH', 'OUTCOME', 'STATUS', 'CONTEXT', 'REASON'],
          deliveries.map(({ deliveryId, time, urlPath, outcome, status, contextId, reason }) => [
            deliveryId,
            timeText(time),
            `/api${urlPath}`,
            { text: outcome, style: styleOf(outcome) },
            status ?? '–',
            contextId ?? '–',
            reason ?? '',
          ]),
        ),
      )
    },
  }),
  replay: remote({
    summary: 'send a delivery again, without verification and deduplication',
    word: '<delivery>',
    async run({ word }, { client, answer }) {
      answer(await client.replayDelivery({ deliveryId: word }), ({ deliveryId, status, contextId }) => [
        plain(`${deliveryId}  ${status}${contextId === null ? '' : `  context ${contextId}`}`),
      ])
    },
  }),
  test: testWebhook,
}
