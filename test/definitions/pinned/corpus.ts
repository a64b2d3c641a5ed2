// pinned: what a version of the program wrote, as it is kept in the folder of that version, and how it gets into a
// store again.
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { StoredContext, Store } from '../../../src/ports/store.ts'
import { putDefinition } from '../../support/stores.ts'

/** A context as it was at some moment. */
export interface PinnedRecord {
  /** What it was doing then. */
  readonly phase: string
  readonly context: StoredContext
  /** Rows of its log. */
  readonly log: readonly string[]
  /** Relatives that it has told to look at it, and that haven't yet. */
  readonly pokes: readonly number[]
}

export interface Corpus {
  /** When the last of the records was written, epoch milliseconds. */
  readonly now: number
  readonly definitions: readonly { readonly hash: string; readonly text: string }[]
  readonly records: readonly PinnedRecord[]
  /** The functions that the definitions name, as files of a folder of packages. */
  readonly code: { readonly [path: string]: string }
}

/** What `examine` finds. */
export interface Expected {
  readonly [part: string]: readonly unknown[]
}

export async function readVersions(): Promise<string[]> {
  const entries = await readdir(import.meta.dirname, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

const fileOf = (version: string, name: string) => join(import.meta.dirname, version, name)

export async function readCorpus(version: string): Promise<Corpus> {
  const corpus: Corpus = JSON.parse(await readFile(fileOf(version, 'corpus.json'), 'utf8'))
  return corpus
}

export async function readExpected(version: string): Promise<Expected> {
  return JSON.parse(gunzipSync(await readFile(fileOf(version, 'expected.json.gz'))).toString('utf8'))
}

/** What brings about a Redis namespace. */
export type Commands = readonly (readonly [name: string, key: string, ...values: string[]])[]

export async function readCommands(version: string): Promise<Commands> {
  return JSON.parse(gunzipSync(await readFile(fileOf(version, 'redis.json.gz'))).toString('utf8'))
}

/** The files of a data folder of the embedded store, by name. */
export async function readDataFolder(version: string): Promise<Map<string, Buffer>> {
  const packed: { [name: string]: string } = JSON.parse(
    gunzipSync(await readFile(fileOf(version, 'data.json.gz'))).toString('utf8'),
  )
  return new Map(Object.entries(packed).map(([name, base64]) => [name, Buffer.from(base64, 'base64')]))
}

/** @throws Error when that version is there: what was pinned once isn't written again */
export async function writeVersion(
  version: string,
  {
    corpus,
    expected,
    data,
    commands,
  }: { corpus: Corpus; expected: Expected; data: ReadonlyMap<string, Buffer>; commands: Commands },
): Promise<void> {
  const folder = join(import.meta.dirname, version)
  if (existsSync(folder)) throw new Error(`version ${version} is pinned already`)
  await mkdir(folder)
  const packed = Object.fromEntries([...data].map(([name, bytes]) => [name, bytes.toString('base64')]))
  await writeFile(fileOf(version, 'corpus.json'), listOf(corpus))
  await writeExpected(version, expected)
  await writeFile(fileOf(version, 'redis.json.gz'), gzipSync(JSON.stringify(commands), { level: 9 }))
  await writeFile(fileOf(version, 'data.json.gz'), gzipSync(JSON.stringify(packed), { level: 9 }))
}

/** What the records of a version come to, when that is changed on purpose. What the version wrote stays. */
export async function writeExpected(version: string, expected: Expected): Promise<void> {
  await writeFile(fileOf(version, 'expected.json.gz'), gzipSync(JSON.stringify(expected), { level: 9 }))
}

const lines = (list: readonly unknown[]) => list.map((each) => `\n${JSON.stringify(each)}`).join(',')

/** One definition or record a line. */
function listOf({ now, definitions, records, code }: Corpus): string {
  const parts = [`"now":${now}`, `"definitions":[${lines(definitions)}]`, `"records":[${lines(records)}]`]
  return `{${[...parts, `"code":${JSON.stringify(code)}`].join(',\n')}}\n`
}

/** Writes what is pinned into an empty store. */
export async function fill(store: Store, { definitions, records }: Corpus): Promise<void> {
  for (const { hash, text } of definitions) await putDefinition(store, hash, text)
  for (let given = 0, last = Math.max(...records.map(({ context }) => context.id)); given < last;) {
    const { first, count } = await store.reserveIds({ count: last - given, partition: 0 })
    given = first + count - 1
  }
  // Whoever is told of an end must be there.
  for (const { context, log, pokes } of records.toSorted((a, b) => a.pokes.length - b.pokes.length)) {
    const outcome = await store.commit({
      writes: [
        { context, previous: 0, changed: Object.keys(context.parts), log, notifies: pokes, answersNotification: false },
      ],
    })
    if (!outcome.ok) throw new Error(`context ${context.id} could not be stored`)
  }
}
