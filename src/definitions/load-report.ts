// definitions: what a load of all files found. Files are named below the folder of packages.
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { getOwn } from '../model/json/value.ts'
import type { LoadedFolders } from './loader.ts'
import type { Fault } from './report.ts'

export interface LoadFault extends Fault {
  /** The service whose file it is; null: it is no service's. `secured`: its file says so. */
  readonly service: { readonly package: string; readonly fluxName: string; readonly secured: boolean } | null
}

export function faultsOf({ services, faults }: LoadedFolders, folders: readonly string[]): LoadFault[] {
  const owners = new Map(
    services.map(({ package: owner, fluxName, file, source }) => {
      const secured = source !== null && (getOwn(source, 'secured') ?? false) !== false
      return [file, { package: owner, fluxName, secured }]
    }),
  )
  return faults.map((fault) => ({
    ...fault,
    file: pathBelow(folders, fault.file),
    // The reason may name other files.
    reason: folders.reduce((text, folder) => text.replaceAll(resolve(folder) + sep, ''), fault.reason),
    service: owners.get(fault.file) ?? null,
  }))
}

/** The path of a file below the folder that it is in; `.` for the folder itself. */
export function pathBelow(folders: readonly string[], file: string): string {
  const paths = folders
    .map((folder) => relative(folder, file))
    .filter((path) => !isAbsolute(path) && !path.startsWith('..'))
  const [shortest = file] = paths.sort((one, other) => one.length - other.length)
  return shortest === '' ? '.' : shortest.split(sep).join('/')
}
