// cli: sample deliveries as providers send them, each with ids of its own, so that none is a repeat of another.
import { randomBytes, randomUUID } from 'node:crypto'
import type { HeaderPair, WebhookSchemeName } from '../model/webhook-schemes/scheme.ts'

export interface WebhookSample {
  readonly contentType: string
  readonly body: string
  /** Besides Content-Type, and what signing adds. */
  readonly headers: readonly HeaderPair[]
}

/** Letters and digits. */
const random = (length: number) => randomBytes(length).toString('hex').slice(0, length)

/** `scheme`: that of the provider; null: none signs the sample. */
export const sampleOf = (scheme: WebhookSchemeName | null, nowMs: number): WebhookSample =>
  (scheme === null ? undefined : SAMPLES[scheme])?.(nowMs) ?? plain(nowMs)

/** For the schemes that no one provider has. */
const plain = (nowMs: number) =>
  ofJson({ id: randomUUID(), type: 'sample', timestamp: timeOf(nowMs), data: { text: 'a sample' } })

const ofJson = (body: object, headers: readonly HeaderPair[] = []) => ({
  contentType: 'application/json',
  body: JSON.stringify(body),
  headers,
})

const timeOf = (nowMs: number) => new Date(nowMs).toISOString()

const commitAt = (nowMs: number) => ({
  id: random(40),
  message: 'A sample',
  timestamp: timeOf(nowMs),
  author: { name: 'Ada', email: 'ada@example.com' },
  added: [],
  removed: [],
  modified: ['README.md'],
})

const SAMPLES: { readonly [name in WebhookSchemeName]?: (nowMs: number) => WebhookSample } = {
  /** A push of one commit. https://docs.github.com/en/webhooks/webhook-events-and-payloads#push */
  github(nowMs) {
    const commit = commitAt(nowMs)
    return ofJson(
      {
        ref: 'refs/heads/main',
        before: random(40),
        after: commit.id,
        created: false,
        deleted: false,
        forced: false,
        repository: {
          id: 1,
          name: 'engine',
          full_name: 'ada/engine',
          default_branch: 'main',
          owner: { name: 'ada', login: 'ada', id: 1 },
        },
        pusher: { name: 'ada', email: 'ada@example.com' },
        sender: { login: 'ada', id: 1, type: 'User' },
        commits: [commit],
        head_commit: commit,
      },
      [
        ['User-Agent', 'GitHub-Hookshot/sample'],
        ['X-GitHub-Event', 'push'],
        ['X-GitHub-Delivery', randomUUID()],
        ['X-GitHub-Hook-ID', '1'],
      ],
    )
  },

  /** A checkout that is paid. https://docs.stripe.com/api/events/object */
  stripe: (nowMs) =>
    ofJson({
      id: `evt_${random(24)}`,
      object: 'event',
      api_version: '2025-09-30.clover',
      created: Math.floor(nowMs / 1000),
      livemode: false,
      pending_webhooks: 1,
      type: 'checkout.session.completed',
      data: {
        object: {
          id: `cs_test_${random(24)}`,
          object: 'checkout.session',
          amount_subtotal: 1000,
          amount_total: 1000,
          currency: 'eur',
          client_reference_id: '4711',
          customer_details: { email: 'ada@example.com', name: 'Ada' },
          metadata: {},
          mode: 'payment',
          payment_intent: `pi_${random(24)}`,
          payment_status: 'paid',
          status: 'complete',
        },
      },
    }),

  /** A message that mentions the app. https://docs.slack.dev/apis/events-api */
  slack(nowMs) {
    const seconds = Math.floor(nowMs / 1000)
    const ts = `${seconds}.000100`
    return ofJson({
      team_id: 'T0SAMPLE',
      api_app_id: 'A0SAMPLE',
      event: { type: 'app_mention', user: 'U0SAMPLE', text: '<@U0APP> hello', ts, channel: 'C0SAMPLE', event_ts: ts },
      type: 'event_callback',
      event_id: `Ev${random(10).toUpperCase()}`,
      event_time: seconds,
    })
  },

  /** A new order. https://shopify.dev/docs/api/webhooks */
  shopify: (nowMs) =>
    ofJson(
      {
        id: nowMs,
        name: '#4711',
        order_number: 4711,
        email: 'ada@example.com',
        created_at: timeOf(nowMs),
        currency: 'EUR',
        total_price: '10.00',
        financial_status: 'paid',
        customer: { id: 7, first_name: 'Ada', email: 'ada@example.com' },
        line_items: [{ id: 1, sku: 'pear', title: 'Pear', quantity: 2, price: '5.00' }],
      },
      [
        ['X-Shopify-Topic', 'orders/create'],
        ['X-Shopify-Shop-Domain', 'sample.myshopify.com'],
        ['X-Shopify-API-Version', '2025-10'],
        ['X-Shopify-Webhook-Id', randomUUID()],
        ['X-Shopify-Event-Id', randomUUID()],
        ['X-Shopify-Triggered-At', timeOf(nowMs)],
      ],
    ),

  /** A push of one commit. https://docs.gitlab.com/user/project/integrations/webhook_events/#push-events */
  gitlab(nowMs) {
    const commit = commitAt(nowMs)
    return ofJson(
      {
        object_kind: 'push',
        event_name: 'push',
        before: random(40),
        after: commit.id,
        ref: 'refs/heads/main',
        checkout_sha: commit.id,
        user_username: 'ada',
        project_id: 1,
        project: { id: 1, name: 'engine', path_with_namespace: 'ada/engine', default_branch: 'main' },
        commits: [commit],
        total_commits_count: 1,
      },
      [
        ['X-Gitlab-Event', 'Push Hook'],
        ['X-Gitlab-Event-UUID', randomUUID()],
        ['X-Gitlab-Webhook-UUID', randomUUID()],
        ['X-Gitlab-Instance', 'https://gitlab.example.com'],
        ['Idempotency-Key', randomUUID()],
      ],
    )
  },

  /** A text message. https://www.twilio.com/docs/messaging/guides/webhook-request */
  twilio() {
    const sid = `SM${random(32)}`
    const fields = {
      MessageSid: sid,
      SmsMessageSid: sid,
      AccountSid: `AC${random(32)}`,
      From: '+15550100001',
      To: '+15550100002',
      Body: 'Hello from a sample',
      NumMedia: '0',
      NumSegments: '1',
      ApiVersion: '2010-04-01',
    }
    return {
      contentType: 'application/x-www-form-urlencoded',
      body: new URLSearchParams(fields).toString(),
      headers: [['I-Twilio-Idempotency-Token', randomUUID()]],
    }
  },
}
