// definitions: what the last load of all files found: when, with which faults, and which file each service has. Files are
// named below the folder of packages.
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { getOwn } from '../model/json/value.ts'
import type { LoadedFolders } from './loader.ts'
import type { Fault } from './report.ts'

export interface LoadFault extends Pick<Fault, 'severity' | 'file' | 'pointer' | 'reason' | 'line' | 'column'> {
  /** The service whose file it is; null: it is no service's. */
  readonly service: ServiceFile | null
}

interface ServiceName {
  readonly package: string
  readonly fluxName: string
}

interface ServiceFile extends ServiceName {
  /** Whether the file says that the service is secured. */
  readonly secured: boolean
}

export class LoadReport {
  /** Epoch milliseconds. */
  readonly loadedAt: number
  readonly faults: readonly LoadFault[]
  readonly #files = new Map<string, string>()
  /** The first fault of each service that has one. */
  readonly #faulty = new Map<string, LoadFault>()

  /** `before`: the report of the load before, whose files count if no service could be looked for. */
  constructor(
    { services, faults, complete }: Pick<LoadedFolders, 'services' | 'faults' | 'complete'>,
    {
      folders,
      now,
      before,
    }: { readonly folders: readonly string[]; readonly now: number; readonly before: LoadReport | null },
  ) {
    const below = (file: string) => pathBelow(folders, file)
    const owners = new Map<string, ServiceFile>()
    for (const { package: owner, fluxName, file, source } of services) {
      const secured = source !== null && (getOwn(source, 'secured') ?? false) !== false
      owners.set(file, { package: owner, fluxName, secured })
      this.#files.set(keyOf({ package: owner, fluxName }), below(file))
    }
    if (!complete && before !== null) this.#files = before.#files
    this.loadedAt = now
    this.faults = faults.map(({ severity, file, pointer, reason, line, column }) => ({
      severity,
      file: below(file),
      pointer,
      reason: withoutFolders(folders, reason),
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column }),
      service: owners.get(file) ?? null,
    }))
    for (const fault of this.faults) {
      const name = fault.service && keyOf(fault.service)
      if (name !== null && fault.severity === 'fault' && !this.#faulty.has(name)) this.#faulty.set(name, fault)
    }
  }

  /** The first fault of a service; undefined if it has none. */
  faultOf(service: ServiceName): LoadFault | undefined {
    return this.#faulty.get(keyOf(service))
  }

  /** The file of a loaded service. */
  fileOf(service: ServiceName): string {
    return this.#files.get(keyOf(service)) ?? ''
  }
}

const keyOf = ({ package: owner, fluxName }: ServiceName): string => `${owner}/${fluxName}`

/** The path of a file below the folder that it is in; `.` for the folder itself. */
function pathBelow(folders: readonly string[], file: string): string {
  const paths = folders
    .map((folder) => relative(folder, file))
    .filter((path) => !isAbsolute(path) && !path.startsWith('..'))
  const [shortest = file] = paths.sort((one, other) => one.length - other.length)
  return shortest === '' ? '.' : shortest.split(sep).join('/')
}

/** What is told of a fault may name other files. */
const withoutFolders = (folders: readonly string[], reason: string): string =>
  folders.reduce((text, folder) => text.replaceAll(resolve(folder) + sep, ''), reason)
