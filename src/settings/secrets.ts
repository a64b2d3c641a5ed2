// settings: secrets from the environment: `ACTORFLUX_SECRET_NAME` has the value, or `ACTORFLUX_SECRET_NAME_FILE` names
// the file that has it, which is read again while the server runs.
import { isUtf8 } from 'node:buffer'
import { readFile, stat } from 'node:fs/promises'
import { messageOf } from '../model/error-message.ts'
import { suggestion } from '../model/nearest.ts'
import { SecretRedactor } from '../model/secret-redactor.ts'
import { secretNameFault } from '../model/secret-reference.ts'
import type { Clock } from '../ports/clock.ts'

export interface Environment {
  readonly [variable: string]: string | undefined
}

const PREFIX = 'ACTORFLUX_SECRET_'
const SUFFIX = '_FILE'
/** Time between two reads of the files. A change counts within 5 seconds. */
const CHECK_INTERVAL_MS = 2000
const MAX_FILE_BYTES = 1024 * 1024
/** Values of a secret: the present one, and ten earlier ones. */
const MOST_VALUES = 11

interface Entry {
  /** null: the variable has the value, or there are both. */
  readonly file: string | null
  readonly isTwofold: boolean
  /** The last one is the value. Earlier ones are still hidden: a call may have got one before the change. */
  values: readonly string[]
  /** Why the file was unusable when it was last read; null: it was not. */
  unusable: string | null
}

/** Names of the secrets that a variable may give; null: the variable gives none. */
export function secretOf(variable: string): string | null {
  if (!variable.startsWith(PREFIX)) return null
  const rest = variable.slice(PREFIX.length)
  const name = rest.endsWith(SUFFIX) ? rest.slice(0, -SUFFIX.length) : rest
  return secretNameFault(name) === null ? name : null
}

export type WatchedSecrets = Awaited<ReturnType<typeof openSecrets>>

/** Reads all secrets. A file that can't be read gives none, which is reported where the secret is used. */
export async function openSecrets(environment: Environment) {
  const given = Object.keys(environment).filter((variable) => environment[variable])
  const names = given.flatMap((variable) => secretOf(variable) ?? [])
  const entries = new Map(names.map((name) => [name, entryOf(name, environment)]))
  await Promise.all(Array.from(entries.values(), readEntry))
  const redactorOf = () => SecretRedactor.ofSecrets(Array.from(entries.values(), ({ values }) => values).flat())
  let redactor = redactorOf()
  let isClosed = false
  let stop: (() => void) | undefined
  return {
    get: (name: string) => entries.get(name)?.values.at(-1) ?? null,
    redactor: () => redactor,
    fault(name: string) {
      const variable = PREFIX + name
      const { isTwofold = false, unusable = null } = entries.get(name) ?? {}
      const set =
        unusable === null
          ? `set ${variable}, or ${variable}${SUFFIX} to the file that has it${suggestion(name, entries.keys())}`
          : `the file of ${variable}${SUFFIX} ${unusable}`
      const twice = `the secret ${name} is set twice, by ${variable} and by ${variable}${SUFFIX}`
      return { reason: isTwofold ? twice : `there is no secret ${name}: ${set}`, isTwofold }
    },
    /**
     * Reads the files again every few seconds.
     * @param onError called once for each change that makes a file unusable; the value that was read last stays
     */
    watch(clock: Clock, onError: (name: string, reason: string) => void) {
      const files = [...entries].filter(([, { file }]) => file !== null)
      const check = async ([name, entry]: (typeof files)[number]) => {
        const { values, unusable } = entry
        await readEntry(entry)
        if (entry.unusable !== null && entry.unusable !== unusable) onError(name, entry.unusable)
        if (entry.values !== values) redactor = redactorOf()
      }
      const schedule = () => {
        if (isClosed || files.length === 0) return
        stop = clock.after(CHECK_INTERVAL_MS, () => void Promise.all(files.map(check)).finally(schedule))
      }
      schedule()
    },
    /** Stops reading files. */
    close() {
      isClosed = true
      stop?.()
    },
  }
}

function entryOf(name: string, environment: Environment): Entry {
  const [value, file] = [environment[PREFIX + name], environment[PREFIX + name + SUFFIX]]
  // An empty variable counts as not set: an empty key would let everyone in.
  const isTwofold = Boolean(value && file)
  return { isTwofold, file: (!value && file) || null, values: value && !file ? [value] : [], unusable: null }
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
    if (entry.unusable === null && value !== entry.values.at(-1))
      entry.values = [...entry.values.filter((earlier) => earlier !== value), value].slice(-MOST_VALUES)
  } catch (error) {
    entry.unusable = `can't be read: ${messageOf(error)}`
  }
}
