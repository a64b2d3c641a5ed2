// recorded: runs one seed, and writes down what was asked and what was answered.
import { z } from 'zod'
import { randomStep } from './calls.ts'
import { Random } from './random.ts'
import { openServer, type Call, type RecordedServer } from './server.ts'
import { randomWorld } from './world.ts'

const Standings = z.array(
  z.object({
    id: z.number(),
    package: z.string(),
    fluxName: z.string(),
    currentState: z.string(),
    status: z.string(),
    nextRun: z.number().nullable(),
  }),
)
type Standing = z.output<typeof Standings>[number]

export interface Exchange {
  /** In one line. */
  readonly request: string
  /** Status, the headers that matter, and the body, with what differs from run to run replaced. */
  readonly answer: string
}

/** Each world starts processes for scripts when it has some: one in so many has. */
const SCRIPTS_EVERY = 14
/** Calls after which the events are chosen by what is waited for then. */
const LOOK_EVERY = 3
/** Milliseconds between calls. Services wait for other spans, so that no two calls' contexts are ever due at once. */
const BETWEEN_MS = 7

const HEADERS = ['content-type', 'link', 'allow', 'www-authenticate', 'retry-after', 'location'] as const

export async function runSeed(seed: number, count: number): Promise<Exchange[]> {
  const random = new Random(seed)
  const world = randomWorld(random, { scripts: seed % SCRIPTS_EVERY === 0 })
  const server = await openServer(world.files)
  const stable = stabiliser()
  const exchanges: Exchange[] = []
  let highest = 0
  let waiting: readonly Standing[] = []
  try {
    while (exchanges.length < count) {
      await server.advance(BETWEEN_MS)
      if (exchanges.length % LOOK_EVERY === 0)
        waiting = (await unfinished(server)).filter(({ status }) => status.startsWith('WAITING'))
      const step = randomStep({ random, world, highest, waiting })
      if (step.kind === 'advance') {
        await server.advance(step.milliseconds)
        exchanges.push({ request: `the clock moves ${step.milliseconds} ms`, answer: stable(await overview(server)) })
        continue
      }
      const answer = await answerOf(server, step.call)
      for (const [, id] of answer.matchAll(/"contextId":(\d+)/g)) highest = Math.max(highest, Number(id))
      exchanges.push({ request: requestLine(step.call), answer: stable(answer) })
    }
  } finally {
    await server.close()
  }
  return exchanges
}

function requestLine({ method, path, headers, body }: Call): string {
  return [method, path, ...(headers ? [JSON.stringify(headers)] : []), ...(body !== undefined ? [body] : [])].join(' ')
}

async function answerOf(server: RecordedServer, call: Call): Promise<string> {
  const response = await server.request(call)
  const headers = HEADERS.flatMap((name) =>
    response.headers.has(name) ? [`${name}: ${response.headers.get(name)}`] : [],
  )
  return [response.status, ...headers, withoutNewFields(await response.text())].join('\n')
}

/**
 * Answers have these since version 0.2, which the answers that are kept can't have: to an event `eventId`, whose value is
 * random, and `pending`, which is empty as long as no event may come early; to a start `started`; and contexts have
 * what follows `step`, with ids of events that are random, up to `key`, which is null where none is given.
 */
const withoutNewFields = (body: string): string =>
  body
    .replace(/,"eventId":"[^"]*","pending":\[\](?=[,}])/, '')
    .replace(/<eventId>[^<]*<\/eventId><pending(?: type="array")?\/>/, '')
    .replace(/(?<="contextId":\d+),"started":true(?=})/, '')
    .replace(/<started type="boolean">true<\/started>/, '')
    .replace(
      /(?<="step":(?:null|\{.*?\})),"parent":(?:null|\{"contextId").*?,"pending":\[\],"forkedFrom":null,"paused":false,"key":null(?=[,}])/g,
      '',
    )
    .replace(
      /(?<=<step type="null"\/>|<\/step>)<parent.*?<paused type="boolean">false<\/paused><key type="null"\/>/gs,
      '',
    )

/** Where every context stands that hasn't ended. */
async function overview(server: RecordedServer): Promise<string> {
  return (await unfinished(server))
    .map(({ id, currentState, status, nextRun }) => `${id} ${currentState} ${status} ${nextRun ?? ''}`.trim())
    .join('\n')
}

async function unfinished(server: RecordedServer): Promise<Standing[]> {
  const response = await server.request({ method: 'GET', path: '/flux-api/contexts?limit=1000' })
  return Standings.parse(await response.json())
}

/** Replaces random ids by numbers in the order in which they are met; and hashes, which cover more than is answered. */
export function stabiliser(): (text: string) => string {
  const known = new Map<string, string>()
  return (text) =>
    text
      .replaceAll(/"definition":"[0-9a-f]{64}"/g, '"definition":"<hash>"')
      .replaceAll(/<definition>[0-9a-f]{64}</g, '<definition>&lt;hash><')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g, (uuid) => {
        const name = known.get(uuid) ?? `<uuid ${known.size + 1}>`
        known.set(uuid, name)
        return name
      })
}
