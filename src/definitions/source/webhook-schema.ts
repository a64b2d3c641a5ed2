// definitions: the part of the table of keys that is about webhooks: those that start a service, and `onEnd`.
import { z } from 'zod'
import type { JsonObject } from '../../model/json/value.ts'
import { SECRET_REFERENCE_PATTERN } from '../../model/secret-reference.ts'
import {
  DEFAULT_TOLERANCE_SECONDS,
  DIGEST_ENCODINGS,
  HEADER_NAME_PATTERN,
  HMAC_ALGORITHMS,
  VERIFY_KEYS,
  WEBHOOK_SCHEME_NAMES,
  type WebhookSchemeName,
} from '../../model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../../model/webhook-schemes/schemes.ts'
import { DURATION, durationFacts } from '../values/durations.ts'
import {
  ANYTHING,
  ifElse,
  FLAG,
  JSON_VALUE,
  NULLABLE_TEXT,
  SECONDS,
  refer,
  refersOrNull,
  STATE_NAME,
  TEXT,
  TEXTS,
  WHOLE_NUMBER,
} from './fields.ts'

/** How an endpoint answers: with what the workflow answers, or at once when the context is stored. */
export const WEBHOOK_ANSWERS = ['workflow', 'accepted'] as const

/** Days for which repeats are recognized. */
export const KEEP_DAYS = { standard: 7, most: 365 }
export const DAY_SECONDS = 86_400

/** Of several, one is given at most. */
export const RECEIVERS = ['contextId', 'key', 'tags'] as const

const SECRET = {
  type: 'string',
  pattern: SECRET_REFERENCE_PATTERN,
  errorMessage: 'must be $secrets.NAME, where NAME has capital letters, digits and _',
  description: '`$secrets.NAME`: a secret of the server.',
  examples: ['$secrets.NAME'],
}
const isGiven = (key: string) => ({ required: [key], properties: { [key]: { not: { type: 'null' } } } })
const isNamed = (scheme: string) => ({ required: ['scheme'], properties: { scheme: { const: scheme } } })
const overRequest = (description: string) =>
  JSON_VALUE.meta({ description: `${description}: an expression over \`$request\`.`, ...NULLABLE_TEXT })

export const WebhookSchema = z
  .object({
    urlPath: STATE_NAME.meta({
      description: 'Path below /api. A segment `{name}` is an input.',
      examples: ['/orders/{orderId}'],
    }),
    httpMethods: TEXTS.meta({ description: 'The HTTP methods.', examples: [['POST']] }),
    name: TEXT.meta({ description: 'Name that people are shown.' }),
    enabled: FLAG.meta({ description: 'Whether it can be called.', default: true }),
    timeout: SECONDS.nullish().meta({ description: 'Seconds after which a call is answered with 504.' }),
    verify: ANYTHING.meta({
      description: 'How a request proves who sent it; left out: anyone may call.',
      ...refer('verify'),
    }),
    dedupe: ANYTHING.meta({ description: 'How repeats of a call are recognized.', ...refersOrNull('dedupe') }),
    when: ANYTHING.meta({
      description: 'Calls for which it is false are of no interest: an expression over `$request`.',
      ...NULLABLE_TEXT,
    }),
    send: ANYTHING.meta({
      description: 'The event that is sent instead of starting the service.',
      ...refersOrNull('send'),
    }),
    answer: ANYTHING.meta({
      description: '`workflow`: what the workflow answers. `accepted`: 202, as soon as the context is stored.',
      enum: [...WEBHOOK_ANSWERS, null],
      default: 'workflow',
    }),
  })
  .meta({ title: 'Webhook', description: 'A path at which the service can be called.' })

/** The keys that a scheme does not have. */
function absentIn(scheme: WebhookSchemeName): JsonObject {
  const special = new Set(Object.values(VERIFY_KEYS).flat())
  const { hasTime } = WEBHOOK_SCHEMES[scheme]
  const absent = [...special].filter((key) => VERIFY_KEYS[scheme]?.includes(key) !== true)
  if (!hasTime({ timestampHeader: 'X-Time' })) absent.push('tolerance')
  return Object.fromEntries(absent.map((key) => [key, { type: 'null' }]))
}

/** What the schemes have of their own: a key of another one is a fault, and so is a tolerance where no time is checked. */
const VERIFY_RULES = [
  ...WEBHOOK_SCHEME_NAMES.map((scheme) => ifElse(isNamed(scheme), { holds: { properties: absentIn(scheme) } })),
  ifElse(isNamed('hmac'), { holds: isGiven('header') }),
  ifElse({ allOf: [isNamed('hmac'), isGiven('tolerance')] }, { holds: isGiven('timestampHeader') }),
]

const HEADER = { pattern: HEADER_NAME_PATTERN.source, errorMessage: 'must be the name of a header' }

export const VerifySchema = z
  .object({
    scheme: z
      .string({ error: 'must be text' })
      .meta({ description: 'How requests are signed.', enum: [...WEBHOOK_SCHEME_NAMES] }),
    secrets: JSON_VALUE.meta({
      description: 'The secrets, any of which is accepted.',
      type: 'array',
      items: SECRET,
      minItems: 1,
    }),
    tolerance: z.int({ error: WHOLE_NUMBER }).min(1, { error: 'must be at least 1' }).nullish().meta({
      description: 'Seconds by which the time of a request may differ from the time of the server.',
      default: DEFAULT_TOLERANCE_SECONDS,
    }),
    header: TEXT.meta({ description: 'Header that has the signature (`hmac`) or the token (`token`).', ...HEADER }),
    algorithm: TEXT.meta({
      description: 'Of `hmac`.',
      enum: [...HMAC_ALGORITHMS, null],
      default: 'sha256',
    }),
    encoding: TEXT.meta({
      description: 'Of `hmac`: of the signature.',
      enum: [...DIGEST_ENCODINGS, null],
      default: 'hex',
    }),
    payload: TEXT.meta({
      description: 'Of `hmac`: what is signed, a template over `${body}`, `${timestamp}` and `${header.NAME}`.',
      minLength: 1,
      default: '${body}',
    }),
    prefix: TEXT.meta({ description: 'Of `hmac`: what stands before the signature.', examples: ['sha256='] }),
    timestampHeader: TEXT.meta({ description: 'Of `hmac`: header that has the time of the request.', ...HEADER }),
    url: TEXT.meta({
      description: 'Of `twilio`: the URL that is called, without a query.',
      pattern: '^https?:\\/\\/[^\\s?#]+$',
      errorMessage: 'must be an http or https URL without a query',
    }),
  })
  .meta({
    title: 'Verification',
    description: 'How a request proves who sent it.',
    required: ['scheme', 'secrets'],
    allOf: VERIFY_RULES,
  })

export const DedupeSchema = z
  .object({
    key: overRequest('Equal for repeats of a call').meta({ type: 'string', examples: ["$request.headers['x-id']"] }),
    keep: JSON_VALUE.meta({
      description: `How long repeats are recognized: ${DURATION}.`,
      ...durationFacts({ most: KEEP_DAYS.most * DAY_SECONDS, orZero: false, orNull: true }),
      default: `${KEEP_DAYS.standard}d`,
    }),
  })
  .meta({ title: 'Repeats', description: 'How repeats of a call are recognized.', required: ['key'] })

const name = STATE_NAME.nullish()

export const OrStartSchema = z
  .object({
    package: name.meta({ description: "Package of the service; left out: the webhook's." }),
    fluxName: name.meta({ description: "Name of the service; left out: the webhook's." }),
    input: overRequest('Input of the context that is started'),
    tags: overRequest('Tags of the context that is started'),
  })
  .meta({ title: 'Start', description: 'What is started when there is no context of that key.' })

export const SendSchema = OrStartSchema.extend({
  event: overRequest('Name of the event').meta({ type: 'string', examples: ["'paid'"] }),
  contextId: overRequest('Id of the context'),
  key: overRequest('Key of the context'),
  tags: overRequest('Tags of the contexts: a list, or one'),
  input: overRequest('Input of the event'),
  orStart: JSON_VALUE.meta({
    description: 'What is started when there is no context of that key: true for this service, or another one.',
    anyOf: [{ type: ['boolean', 'null'] }, refer('orStart')],
    default: false,
  }),
}).meta({
  title: 'Event to send',
  description: 'The event that a call becomes. Of `contextId`, `key` and `tags` one is given at most.',
  required: ['event'],
  allOf: [
    ...RECEIVERS.flatMap((one, at) =>
      RECEIVERS.slice(at + 1).map((other) => ({ not: { allOf: [isGiven(one), isGiven(other)] } })),
    ),
    ifElse(
      { required: ['orStart'], properties: { orStart: { not: { enum: [null, false] } } } },
      { holds: isGiven('key') },
    ),
  ],
})

export const OnEndSchema = z
  .object({
    url: STATE_NAME.meta({
      description: 'URL, or a template over the inputs.',
      pattern: '\\$\\{|^[Hh][Tt][Tt][Pp][Ss]?:\\/\\/',
      errorMessage: 'must be an http or https URL, or a template over the inputs',
      examples: ['https://example.com/ended'],
    }),
    secret: JSON_VALUE.meta({ ...SECRET, description: '`$secrets.NAME`: the secret with which it is signed.' }),
  })
  .meta({
    title: 'Webhook at the end',
    description: 'A signed webhook that is sent when a context has ended.',
    required: ['url', 'secret'],
  })
