// http: the calls that take many requests, a line each, as operations of the OpenAPI document; and CloudEvents.
import { referenceTo } from '../../api/call.ts'
import { STREAM_MOVES, type StreamCall } from '../../api/streams.ts'
import { headersToldOf, objectOf, parametersOf, problemsOf, RATE_HEADERS, USUAL_PROBLEMS } from './operation.ts'

const TYPES = ['application/x-ndjson', 'application/jsonl']

const perLine = (schema: object, example: unknown) =>
  Object.fromEntries(TYPES.map((type) => [type, { schema, example }]))

export function streamOperation({ id, summary, each, line, lineExample, answers, answerExample }: StreamCall) {
  return {
    operationId: id,
    tags: ['flux-api'],
    summary,
    description:
      'The schemas are those of one line. Each line is answered by one, in the order of the request, when it is ' +
      'committed; the last line tells that the answer is whole. The body may be compressed with gzip. With ' +
      '`Prefer: return=minimal`, lines that succeed are not answered. Once 1,000 lines more were refused before their ' +
      'call was made than were not, nothing more is read.',
    parameters: parametersOf('path', each.path),
    requestBody: { required: true, content: perLine(objectOf(line), lineExample) },
    responses: {
      200: {
        description: 'The request was accepted',
        headers: headersToldOf({ 'Preference-Applied': 'return=minimal, where that was asked for', ...RATE_HEADERS }),
        content: perLine({ anyOf: answers.map(referenceTo) }, answerExample),
      },
      ...problemsOf([...USUAL_PROBLEMS, 415]),
    },
  }
}

/** Server-sent events, whose form OpenAPI can not describe: the schema is that of the data of moves. */
export function movesOperation() {
  const { summary, query, answer, answerExample, problems } = STREAM_MOVES
  return {
    operationId: 'streamMoves',
    tags: ['flux-api'],
    summary,
    description:
      'Events are `move`, whose data the schema describes; `gap` (`{ from, to }`): messages are missing; `dropped` ' +
      '(`{ count }`): the reader was too slow for so many; and `bye` (`{ reason }`), before the server ends the stream. ' +
      'Comments come every 15 seconds. Filters look at the context after the commit.',
    parameters: [
      ...parametersOf('query', query),
      {
        in: 'header',
        name: 'Last-Event-ID',
        schema: { type: 'string' },
        required: false,
        description: 'Goes on behind the message with this id, if it is among the last 10,000',
      },
    ],
    responses: {
      200: {
        description: 'The stream has begun',
        headers: headersToldOf(RATE_HEADERS),
        content: {
          'text/event-stream': {
            schema: { ...referenceTo(answer), description: 'Data of the event `move`' },
            example: answerExample,
          },
        },
      },
      ...problemsOf([...USUAL_PROBLEMS, ...problems]),
    },
  }
}

const attribute = { type: 'string', minLength: 1 }
const CLOUD_EVENT = {
  type: 'object',
  description:
    'CloudEvents 1.0. `type` is the event and `data` the input; `source` and `id` are its eventId. Attributes may be ' +
    'sent as `ce-` headers instead, with the data as the body',
  properties: {
    specversion: { const: '1.0' },
    type: attribute,
    source: attribute,
    id: attribute,
    data: { type: ['object', 'string', 'null'], additionalProperties: true },
    data_base64: { type: 'string' },
    fluxcontextid: { type: 'string', pattern: '^[0-9]+$' },
    fluxtags: { type: 'string', description: 'Separated by commas' },
    fluxkey: attribute,
    fluxname: attribute,
    fluxpackage: attribute,
    fluxttl: { type: ['string', 'integer'] },
  },
  required: ['specversion', 'type', 'source', 'id'],
}
const EXAMPLE = {
  specversion: '1.0',
  type: 'approve',
  source: '/shop',
  id: 'A-1',
  fluxtags: 'team-7',
  data: { by: 'Ada' },
}

/** What the event call takes besides its own formats. */
export const CLOUD_EVENTS = {
  'application/cloudevents+json': { schema: CLOUD_EVENT, example: EXAMPLE },
  'application/cloudevents-batch+json': {
    schema: { type: 'array', items: CLOUD_EVENT, maxItems: 1000 },
    example: [EXAMPLE],
  },
}
