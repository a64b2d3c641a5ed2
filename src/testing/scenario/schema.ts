// testing/scenario: what a scenario file is. Files are read by this schema, and the JSON Schema for editors is made of it.
import { z } from 'zod'
import { momentOf } from '../../api/fields.ts'
import { editorSchema } from '../../definitions/editor/document.ts'
import { ANYTHING, closedEntry, JSON_VALUE, NAME, text } from '../../definitions/source/fields.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { quantityOf } from '../../model/quantity.ts'
import { TIMES } from '../../settings/table.ts'

const byName = <T extends z.ZodType>(value: T) => z.record(z.string(), value, 'must be an object').optional()
const oneOrMore = <T extends z.ZodType>(item: T) => z.union([item, z.array(item)], 'must be an object, or a list')
const told = (description: string) => text.optional().describe(description)
const that = (description: string) => z.literal(true, 'must be true').optional().describe(description)

/** Some keys may have only these others beside them, since the others would have no effect. */
const beside = (keys: { readonly [key: string]: string }) => (given: object, issues: z.RefinementCtx) => {
  const names = Object.keys(given)
  for (const [key, others] of Object.entries(keys))
    for (const name of names.includes(key) ? names : [])
      if (name !== key && !others.split(' ').includes(name))
        issues.addIssue({ code: 'custom', path: [name], message: `has no meaning beside ${key}` })
}

const DATA = byName(JSON_VALUE)
const TEXTS = byName(text)
const TAGS = z.array(text, 'must be a list of texts').optional()

const Outcome = closedEntry({
  result: JSON_VALUE.describe('What the function returns.'),
  error: closedEntry({ type: told('Name of the error.'), message: text.optional() }).optional(),
  pending: that('The function never ends.'),
}).superRefine(beside({ result: '', error: '', pending: '' }))

const Answer = closedEntry({
  status: z.int().min(100).max(599).optional().describe('200 if left out.'),
  headers: TEXTS,
  body: JSON_VALUE.describe('Text, or data that is sent as JSON.'),
  error: told('Code of an error of the network in place of an answer, such as ECONNREFUSED.'),
}).superRefine(beside({ error: '' }))

const Webhook = closedEntry({
  path: NAME.describe('Behind `/api`, with its query.'),
  method: told('POST if left out.'),
  headers: TEXTS,
  body: Answer.shape.body,
  encoded: that('The body is base64 of the bytes that are sent.'),
}).optional()

const SEEN = {
  state: 'The current state.',
  status: 'RUNNING, WAITING, WAITING_UNTIL, COMPLETED, FAILED or TERMINATED.',
  input: 'The inputs.',
  output: 'The outputs.',
  tags: 'All tags.',
  key: 'The key.',
  error: 'Why it failed: `type`, `message`.',
  states: 'All states that were entered, in order.',
  nextRun: 'When it is woken, in ISO 8601.',
  paused: 'Whether it is paused.',
  calls: 'By function: its calls, or their number.',
  sent: 'The requests that were sent, or their number.',
  answer: 'The last answer of a webhook: `status`, `headers`, `body`.',
}

/** What is compared, a value each, or a matcher: objects as far as they are given, lists as a whole. */
const Expected = closedEntry(
  Object.fromEntries(Object.entries(SEEN).map(([name, description]) => [name, JSON_VALUE.describe(description)])),
)

const COMMANDS = {
  expect: Expected.optional().describe('What is to be seen then.'),
  send: told('Name of an event that the context gets; with `tags`, `key` or `all`, others.'),
  advance: z
    .union([z.number(), z.string()])
    .refine((time) => (typeof time === 'number' ? time : quantityOf(time, TIMES)) >= 0, {
      error: 'must be milliseconds, or a text such as 90s, 15m, 1h or 3d',
    })
    .optional(),
  crash: that('The server is killed, and another one begins.'),
  webhook: Webhook,
  terminate: that('The context is ended.'),
  retry: that('A context that failed goes on.'),
  pause: that('The context is paused.'),
  resume: that('The context is resumed.'),
}

/** What a step does: one of these. */
export const COMMAND_NAMES = z.object(COMMANDS).keyof().options

const Step = closedEntry({
  ...COMMANDS,
  service: told('Another service, whose newest context is meant.'),
  input: DATA,
  tags: TAGS.describe('The event is for all contexts that have any of these.'),
  key: told('The event is for the context of that key.'),
  all: that('The event is for all contexts that wait for it.'),
  state: told('With `retry`: the state to enter.'),
  refused: JSON_VALUE.describe('The call is refused, with this text.'),
})
  .superRefine(
    beside({
      expect: 'service',
      send: 'input service tags key all refused',
      advance: '',
      crash: '',
      webhook: '',
      terminate: 'service refused',
      retry: 'service refused state input',
      pause: 'service refused',
      resume: 'service refused',
      tags: 'send input refused',
      key: 'send input refused service',
      all: 'send input refused',
    }),
  )
  .refine((step) => COMMAND_NAMES.some((name) => step[name] !== undefined), {
    error: `must have one of ${COMMAND_NAMES.join(', ')}`,
  })

/** Not written as a literal: it would make an object that looks like a promise. */
export const STEPS = `then` as const

export const ScenarioFile = closedEntry({
  $schema: ANYTHING,
  comment: ANYTHING,
  service: NAME.describe('Name of the service; with its package before a slash, if it is that of another one.'),
  name: NAME.describe('What happens, for people.'),
  now: z
    .custom<string | number>((given) => momentOf(given) !== null, 'must be a time in ISO 8601')
    .meta({ type: ['string', 'integer'] })
    .optional()
    .describe('The time at the beginning; 2026-01-01 if left out.'),
  seed: z.int('must be a whole number').optional().describe('From which follows what is drawn by chance.'),
  secrets: TEXTS.describe('Values of `$secrets`, by name.'),
  functions: byName(oneOrMore(Outcome)).describe(
    'What functions do, by `module.function`: always the same, or a list with an entry for each call. Others run as they are.',
  ),
  http: byName(oneOrMore(Answer)).describe(
    'Answers by URL, with its query or without: always the same, or a list with one for each request. A URL that ends with `*` stands for all that begin so.',
  ),
  start: closedEntry({
    input: DATA,
    tags: TAGS,
    key: text.optional(),
    startState: text.optional(),
    webhook: Webhook.describe('A request to a webhook of the service, which starts it.'),
    refused: JSON_VALUE.describe('The start is refused, with this text.'),
  })
    .superRefine(beside({ webhook: '' }))
    .optional()
    .describe('How the service is started; left out: an event of the first step starts it.'),
  [STEPS]: z.array(Step, 'must be a list').describe('What happens then, in order.'),
})

export type Scenario = z.output<typeof ScenarioFile>
export type ScenarioStep = Scenario[typeof STEPS][number]
export type OutcomeGiven = z.output<typeof Outcome>
export type AnswerGiven = z.output<typeof Answer>

/** The JSON Schema of scenario files, for editors. */
export const scenarioSchema = (): JsonObject => editorSchema(ScenarioFile)
