// pinned: runs services until their contexts stand in every phase, and keeps what was written of each.
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Json } from '../../../src/model/json/value.ts'
import { CODE } from '../../recorded/actions.ts'
import { inputFor, MODEL_FILE } from '../../recorded/properties.ts'
import { Random } from '../../recorded/random.ts'
import { openServer, type RecordedServer } from '../../recorded/server.ts'
import { EVENTS } from '../../recorded/services.ts'
import { randomWorld } from '../../recorded/world.ts'
import { SimulatedClock } from '../../../src/testing/simulated-clock.ts'
import { Commits } from './commits.ts'
import type { Corpus } from './corpus.ts'
import { play } from './play.ts'
import { FILES } from './services.ts'

const ACTORS = resolve(import.meta.dirname, '../../../actors')
/** Whose services are in the corpus, too. */
const WORLDS = [1, 14] as const

interface Written {
  readonly corpus: Corpus
  /** The folder of the server, which has stopped. */
  readonly folder: string
}

export async function writeCorpus(folder: string): Promise<Written> {
  const code = await codeFiles()
  const files = {
    ...(await exampleFiles()),
    ...FILES,
    'k/models/Thing.model': MODEL_FILE,
    ...code,
    ...generatedFiles(),
  }
  const clock = new SimulatedClock()
  const commits = new Commits()
  const server = await openServer(files, { folder, clock, wrap: commits.wrap })
  const { special, waiting } = await play(server, commits)
  await runGenerated(server)
  const now = clock.now()
  // What is under way has to be given back when the server stops; as it was before, it is kept by `special`.
  await server.stop()
  await Promise.all(waiting)
  const chosen = special()
  const rest = commits.ids
    .filter((id) => !chosen.some(({ context }) => context.id === id))
    .map((id) => commits.record(id, 'as it was when the server stopped'))
  const records = [...chosen, ...rest].toSorted((a, b) => a.context.id - b.context.id)
  return { corpus: { now, definitions: commits.definitions, records, code }, folder }
}

/** Of the packages of the corpus, and of the examples as they are now. */
async function codeFiles(): Promise<{ [path: string]: string }> {
  const code: { [path: string]: string } = { 'k/code.mjs': CODE }
  for (const seed of WORLDS) for (const name of ['p', 'q']) code[`${name}${seed}/code.mjs`] = CODE
  for (const path of await readdir(ACTORS, { recursive: true }))
    if (path.endsWith('.ts')) code[path] = await readFile(join(ACTORS, path), 'utf8')
  return code
}

async function exampleFiles(): Promise<{ [path: string]: string }> {
  const files: { [path: string]: string } = {}
  for (const path of await readdir(ACTORS, { recursive: true }))
    if (/\.(flux|model)$/.test(path)) files[path] = await readFile(join(ACTORS, path), 'utf8')
  return files
}

const worldOf = (seed: number) => randomWorld(new Random(seed), { scripts: true })

/** Each world in packages of its own, without its webhooks. */
function generatedFiles(): { [path: string]: Json } {
  return Object.fromEntries(
    WORLDS.flatMap((seed) =>
      Object.entries(worldOf(seed).files)
        .filter(([path]) => !path.includes('Hook') && !path.endsWith('.mjs'))
        .map(([path, content]) => [path.replace('/', `${seed}/`), content] as const),
    ),
  )
}

/** Starts each of the generated services, and lets some of them hear an event. */
async function runGenerated({ api, settle, advance }: RecordedServer): Promise<void> {
  for (const seed of WORLDS) {
    const random = new Random(seed + 1000)
    for (const service of worldOf(seed).services) {
      let contextId: number | null = null
      for (let attempt = 0; attempt < 20 && contextId === null; attempt += 1) {
        const request = {
          package: `${service.package}${seed}`,
          fluxName: service.fluxName,
          input: inputFor(random, service.input),
        }
        contextId = await api.execute(request).then(
          (answer) => answer.contextId,
          () => null,
        )
      }
      await settle()
      if (contextId === null) throw new Error(`${service.fluxName} of ${seed} can't be started`)
      if (random.chance(0.5)) await api.sendEvent({ contextId, event: random.pick(EVENTS) }).catch(() => null)
      await settle()
    }
  }
  await advance(1)
}
