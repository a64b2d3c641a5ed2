// settings: secrets from the environment: `ACTORFLUX_SECRET_NAME` has the value, or `ACTORFLUX_SECRET_NAME_FILE` names
// the file that has it, which is read again while the server runs.
import { isUtf8 } from 'node:buffer'
import { readFile, stat } from 'node:fs/promises'
import { messageOf } from '../model/error-message.ts'
import { getOwn } from '../model/json/value.ts'
import { suggestion } from '../model/nearest.ts'
import { SecretRedactor } from '../model/secret-redactor.ts'
import { secretNameFault } from '../model/secret-reference.ts'
import type { Clock } from '../ports/clock.ts'
import type { ServiceSecrets } from '../ports/secrets.ts'

export interface Environment {
  readonly [variable: string]: string | undefined
}

const PREFIX = 'ACTORFLUX_SECRET_'
const SUFFIX = '_FILE'
/** Time between two reads of the files. A change counts within 5 seconds. */
const CHECK_INTERVAL_MS = 2000
const MAX_FILE_BYTES = 1024 * 1024
/** Earlier values of a secret. */
const MAX_EARLIER = 10

interface Entry {
  readonly name: string
  /** null: the variable has the value, or there are both. */
  readonly file: string | null
  readonly isTwofold: boolean
  value: string | null
  /** Why the file was unusable when it was last read; null: it was not. */
  unusable: string | null
  /** Values that are still hidden: a call may have got one before the change. */
  earlier: string[]
}

/** Names of the secrets that a variable may give; null: the variable gives none. */
export function secretOf(variable: string): string | null {
  if (!variable.startsWith(PREFIX)) return null
  const rest = variable.slice(PREFIX.length)
  const name = rest.endsWith(SUFFIX) ? rest.slice(0, -SUFFIX.length) : rest
  return secretNameFault(name) === null ? name : null
}

/** Reads all secrets. A file that can't be read gives none, which is reported where the secret is used. */
export async function openSecrets(environment: Environment): Promise<WatchedSecrets> {
  const given = Object.keys(environment).filter((variable) => environment[variable])
  const names = new Set(given.flatMap((variable) => secretOf(variable) ?? []))
  const entries = [...names].map((name) => entryOf(name, environment))
  await Promise.all(entries.map((entry) => readEntry(entry)))
  return new WatchedSecrets(entries)
}

function entryOf(name: string, environment: Environment): Entry {
  // An empty variable counts as not set: an empty key would let everyone in.
  const value = getOwn(environment, PREFIX + name) || null
  const file = getOwn(environment, PREFIX + name + SUFFIX) || null
  const isTwofold = value !== null && file !== null
  const one = isTwofold ? { value: null, file: null } : { value, file }
  return { ...one, name, isTwofold, unusable: null, earlier: [] }
}

export class WatchedSecrets implements ServiceSecrets {
  readonly #entries: ReadonlyMap<string, Entry>
  #redactor: SecretRedactor
  #stop: () => void = () => {}
  #closed = false

  constructor(entries: readonly Entry[]) {
    this.#entries = new Map(entries.map((entry) => [entry.name, entry]))
    this.#redactor = this.#makeRedactor()
  }

  get(name: string) {
    return this.#entries.get(name)?.value ?? null
  }

  redactor() {
    return this.#redactor
  }

  fault(name: string) {
    const variable = PREFIX + name
    const { isTwofold = false, unusable = null } = this.#entries.get(name) ?? {}
    const set =
      unusable === null
        ? `set ${variable}, or ${variable}${SUFFIX} to the file that has it${suggestion(name, this.#entries.keys())}`
        : `the file of ${variable}${SUFFIX} ${unusable}`
    const twice = `the secret ${name} is set twice, by ${variable} and by ${variable}${SUFFIX}`
    return { reason: isTwofold ? twice : `there is no secret ${name}: ${set}`, isTwofold }
  }

  /**
   * Reads the files again every few seconds.
   *
   * @param onError called once for each change that makes a file unusable; the value that was read last stays
   */
  watch(clock: Clock, onError: (name: string, reason: string) => void) {
    const files = [...this.#entries.values()].filter(({ file }) => file !== null)
    if (files.length === 0) return
    const schedule = () => {
      this.#stop = clock.after(CHECK_INTERVAL_MS, () => {
        void Promise.all(files.map((entry) => this.#check(entry, onError))).finally(() => {
          if (!this.#closed) schedule()
        })
      })
    }
    schedule()
  }

  /** Stops reading files. */
  close() {
    this.#closed = true
    this.#stop()
  }

  async #check(entry: Entry, onError: (name: string, reason: string) => void) {
    const { value: before, unusable } = entry
    await readEntry(entry)
    if (entry.unusable !== null && entry.unusable !== unusable) onError(entry.name, entry.unusable)
    if (entry.value === before) return
    if (before !== null)
      entry.earlier = [...entry.earlier.filter((value) => value !== before), before].slice(-MAX_EARLIER)
    this.#redactor = this.#makeRedactor()
  }

  #makeRedactor() {
    const entries = [...this.#entries.values()]
    const earlier = entries.flatMap((entry) => entry.earlier)
    return SecretRedactor.ofSecrets([...entries.flatMap(({ value }) => value ?? []), ...earlier])
  }
}

/** Reads the file of a secret. If it is unusable, the value stays as it was. Never rejects. */
async function readEntry(entry: Entry) {
  if (entry.file === null) return
  try {
    const found = await stat(entry.file)
    const isLarge = found.size > MAX_FILE_BYTES
    // Reading a pipe or a device might never end.
    const bytes = found.isFile() && !isLarge ? await readFile(entry.file) : Buffer.alloc(0)
    const value = new TextDecoder().decode(bytes).replace(/\r?\n$/, '')
    const faults = [
      [!found.isFile(), 'is no regular file'],
      [isLarge, 'is larger than 1 MB'],
      [!isUtf8(bytes), 'is no UTF-8'],
      [value === '', 'is empty'],
    ] as const
    entry.unusable = faults.find(([isSo]) => isSo)?.[1] ?? null
    if (entry.unusable === null) entry.value = value
  } catch (error) {
    entry.unusable = `can't be read: ${messageOf(error)}`
  }
}
