// definitions: what an entry of `webhooks` in a .flux file is.
import { z } from 'zod'
import { referredSecret, secretNameFault } from '../../model/secret-reference.ts'
import {
  DEFAULT_TOLERANCE_SECONDS,
  DIGEST_ENCODINGS,
  HEADER_NAME_PATTERN,
  HMAC_ALGORITHMS,
  WEBHOOK_SCHEME_NAMES,
} from '../../model/webhook-schemes/scheme.ts'
import {
  closedEntry,
  DAY_SECONDS,
  durationMs,
  entry,
  flag,
  list,
  MS,
  NAME,
  oneOf,
  text,
  TEXT,
  WHOLE_NUMBER,
} from './fields.ts'

/** Days for which repeats are recognized. */
const STANDARD_KEEP_DAYS = 7
const MOST_KEEP_DAYS = 365

const NO_REFERENCE = 'must be "$secrets.NAME": a secret itself would be shown with the definition'

/** The name of a secret, from a reference to it. No message contains what was written, which may be a secret. */
export const SECRET = z
  .string({ error: NO_REFERENCE })
  .regex(/^\$secrets\.(?!\w*_FILE$)[A-Z][A-Z0-9_]*$/, {
    error: ({ input }) => {
      const name = referredSecret(String(input))
      return (name === null ? null : secretNameFault(name)) ?? NO_REFERENCE
    },
  })
  .meta({
    description: '`$secrets.NAME`: a secret of the server.',
    errorMessage: 'must be $secrets.NAME, where NAME has capital letters, digits and _',
    examples: ['$secrets.NAME'],
  })
  .transform((reference) => reference.slice('$secrets.'.length))

const EXPRESSION = z.string({ error: 'must be text: an expression over $request' })
const overRequest = (description: string) =>
  EXPRESSION.nullish().describe(`${description}: an expression over \`$request\`.`)

const orAbsent = <T>(given: T | null) => given ?? undefined

const HEADER = text
  .regex(HEADER_NAME_PATTERN, { error: ({ input }) => `"${String(input)}" is no name of a header` })
  .nullish()
  .transform(orAbsent)

const Verify = closedEntry({
  scheme: oneOf('scheme', WEBHOOK_SCHEME_NAMES).describe('How requests are signed.'),
  secrets: z
    .array(SECRET.optional(), { error: 'must be a list of "$secrets.NAME"' })
    .min(1, { error: 'there are no secrets' })
    .describe('The secrets, any of which is accepted.'),
  tolerance: WHOLE_NUMBER.meta({
    description: 'Seconds by which the time of a request may differ from the time of the server.',
    default: DEFAULT_TOLERANCE_SECONDS,
  }),
  header: HEADER.describe('Header that has the signature (`hmac`) or the token (`token`).'),
  algorithm: oneOf('algorithm', HMAC_ALGORITHMS)
    .nullish()
    .meta({ description: 'With `hmac`: the algorithm.', default: 'sha256' })
    .transform(orAbsent),
  encoding: oneOf('encoding', DIGEST_ENCODINGS)
    .nullish()
    .meta({ description: 'With `hmac`: the encoding of the signature.', default: 'hex' })
    .transform(orAbsent),
  payload: text
    .min(1, { error: 'the template is empty' })
    .nullish()
    .meta({
      description: 'With `hmac`: what is signed, a template over `${body}`, `${timestamp}` and `${header.NAME}`.',
      default: '${body}',
    })
    .transform(orAbsent),
  prefix: TEXT.meta({
    description: 'With `hmac`: what stands before the signature.',
    examples: ['sha256='],
  }).transform(orAbsent),
  timestampHeader: HEADER.describe('With `hmac`: header that has the time of the request.'),
  url: text
    .refine((url) => /^https?:\/\/[^\s?#]+$/.test(url) && URL.canParse(url), {
      error: 'must be the URL that the provider calls, https://…, without a query',
    })
    .nullish()
    .describe('With `twilio`: the URL that is called, without a query.')
    .transform(orAbsent),
}).meta({ id: 'verify' })

export type VerifySource = z.output<typeof Verify>

const Dedupe = closedEntry({
  key: EXPRESSION.meta({
    description: 'Equal for repeats of a call: an expression over `$request`.',
    examples: ["$request.headers['x-id']"],
  }),
  keep: durationMs(MOST_KEEP_DAYS * DAY_SECONDS, false)
    .describe(
      `How long repeats are recognized: seconds, or "90s", "15m", "1h", "7d"; left out: ${STANDARD_KEEP_DAYS} days.`,
    )
    .transform((given) => given ?? STANDARD_KEEP_DAYS * DAY_SECONDS * 1000),
}).meta({ id: 'dedupe' })

const OrStart = closedEntry({
  package: NAME.nullish().describe("Package of the service; left out: the webhook's."),
  fluxName: NAME.nullish().describe("Name of the service; left out: the webhook's."),
  input: overRequest('Input of the context that is started'),
  tags: overRequest('Tags of the context that is started'),
}).meta({ id: 'orStart', description: 'What is started when there is no context of that key.' })

const Send = closedEntry({
  package: NAME.nullish().describe("Package of the service whose key is meant; left out: the webhook's."),
  fluxName: NAME.nullish().describe("Name of the service whose key is meant; left out: the webhook's."),
  event: EXPRESSION.meta({
    description: 'Name of the event: an expression over `$request`.',
    examples: ["'paid'"],
  }),
  contextId: overRequest('Id of the context'),
  key: overRequest('Key of the context'),
  tags: overRequest('Tags of the contexts: a list, or one'),
  input: overRequest('Input of the event'),
  orStart: z
    .union([z.boolean(), OrStart], { error: 'must be true, or an object' })
    .nullish()
    .describe('What is started when there is no context of that key: true for this service, or another one.'),
}).meta({ id: 'send' })

export type SendSource = z.output<typeof Send>

export const WebhookSchema = entry({
  urlPath: NAME.meta({
    description: 'Path below /api. A segment `{name}` is an input.',
    examples: ['/orders/{orderId}'],
  }),
  httpMethods: list(text, 'must be a list of texts').describe('The HTTP methods.'),
  name: TEXT.describe('Name that people are shown.'),
  enabled: flag(true).describe('Whether it can be called.'),
  timeout: MS.describe('Seconds after which a call is answered with 504.'),
  // An explicit null is no way to switch the check off.
  verify: Verify.optional().describe('How a request proves who sent it; left out: anyone may call.'),
  dedupe: Dedupe.nullish().describe('How repeats of a call are recognized.'),
  when: overRequest('Calls for which it is false are of no interest'),
  send: Send.nullish().describe(
    'The event that is sent instead of starting the service. Of `contextId`, `key` and `tags` one is given at most.',
  ),
  answer: oneOf('answer', ['workflow', 'accepted']).nullish().meta({
    description: '`workflow`: what the workflow answers. `accepted`: 202, as soon as the context is stored.',
    default: 'workflow',
  }),
}).meta({ id: 'webhook', description: 'A path at which the service can be called.' })

export type WebhookSource = z.output<typeof WebhookSchema>
