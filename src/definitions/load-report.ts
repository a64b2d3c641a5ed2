// definitions: what the last load of all files found: when, with which faults, and which file each service has. Files are
// named below the folder of packages.
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { getOwn } from '../model/json/value.ts'
import type { LoadedFolders } from './loader.ts'
import type { Fault } from './report.ts'

export interface LoadFault extends Fault {
  /** The service whose file it is; null: it is no service's. `secured`: its file says so. */
  readonly service: (ServiceName & { readonly secured: boolean }) | null
}

interface ServiceName {
  readonly package: string
  readonly fluxName: string
}

const keyOf = ({ package: owner, fluxName }: ServiceName): string => `${owner}/${fluxName}`

export class LoadReport {
  /** Epoch milliseconds. */
  readonly loadedAt = Date.now()
  readonly faults: readonly LoadFault[]
  readonly #files: ReadonlyMap<string, string>

  /** `before`: the report of the load before, whose files count if no service could be looked for. */
  constructor({ services, faults, complete }: LoadedFolders, folders: readonly string[], before: LoadReport | null) {
    const owners = new Map(
      services.map(({ package: owner, fluxName, file, source }) => {
        const secured = source !== null && (getOwn(source, 'secured') ?? false) !== false
        return [file, { package: owner, fluxName, secured }]
      }),
    )
    this.#files =
      complete || before === null
        ? new Map(services.map((one) => [keyOf(one), pathBelow(folders, one.file)]))
        : before.#files
    this.faults = faults.map((fault) => ({
      ...fault,
      file: pathBelow(folders, fault.file),
      // The reason may name other files.
      reason: folders.reduce((text, folder) => text.replaceAll(resolve(folder) + sep, ''), fault.reason),
      service: owners.get(fault.file) ?? null,
    }))
  }

  /** The first fault of a service; undefined if it has none. */
  faultOf(service: ServiceName): LoadFault | undefined {
    const key = keyOf(service)
    return this.faults.find(
      ({ service: owner, severity }) => owner !== null && severity === 'fault' && keyOf(owner) === key,
    )
  }

  /** The file of a loaded service. */
  fileOf(service: ServiceName): string {
    return this.#files.get(keyOf(service)) ?? ''
  }
}

/** The path of a file below the folder that it is in; `.` for the folder itself. */
function pathBelow(folders: readonly string[], file: string): string {
  const paths = folders
    .map((folder) => relative(folder, file))
    .filter((path) => !isAbsolute(path) && !path.startsWith('..'))
  const [shortest = file] = paths.sort((one, other) => one.length - other.length)
  return shortest === '' ? '.' : shortest.split(sep).join('/')
}
