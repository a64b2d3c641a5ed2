// definitions: the catalog of the loaded services, and of the pinned definitions, which contexts were started with.
import type { Log } from '../ports/log.ts'
import { recompile } from './service.ts'
import { loadFolders, type LoadedFolders, type LoadOptions } from './loader.ts'
import { faultsOf, pathBelow, type LoadFault } from './load-report.ts'
import { UnreadableDefinition } from './definition-error.ts'
import { Endpoints } from './endpoints.ts'
import type { CompiledFlux } from './flux.ts'
import { hashOf } from './pinned/text.ts'
import type { Fault } from './report.ts'

type CatalogOptions = LoadOptions & { readonly log?: Log | undefined }

/**
 * Loads all packages. Faults in files do not make it fail; they are in the report, and the catalog has no service with
 * one. `complete`: whether all folders could be read.
 */
export async function openCatalog(options: CatalogOptions) {
  const loaded = await loadFolders(options)
  const report: readonly Fault[] = loaded.faults
  return { catalog: new Catalog(options, loaded), report, complete: loaded.complete }
}

/** Maximum number of pinned definitions in the cache. A full one is emptied: they are compiled again when needed. */
const MAX_PINNED = 256

export class Catalog {
  readonly #options: CatalogOptions
  readonly #pinned = new Map<string, Promise<CompiledFlux>>()
  /** Hashes of the faulty definitions that have been logged. */
  readonly #reported = new Set<string>()
  #index: ReturnType<typeof indexOf>
  /** Incremented by each successful reload, after which pinned definitions may compile differently. */
  generation = 0
  /** What the last load found, also one after which nothing was replaced. `loadedAt`: epoch milliseconds. */
  lastLoad: { readonly loadedAt: number; readonly faults: readonly LoadFault[] }
  #reloading: Promise<unknown> = Promise.resolve()

  constructor(options: CatalogOptions, loaded: LoadedFolders) {
    this.#options = options
    this.#index = indexOf(loaded, options.folders, null)
    this.lastLoad = { loadedAt: Date.now(), faults: faultsOf(loaded, options.folders) }
  }

  find(packageName: string, fluxName: string): CompiledFlux | undefined {
    return this.findAnywhere(fluxName).find((flux) => flux.package === packageName)
  }

  /** The services of that name in all packages, ordered by package. */
  findAnywhere(fluxName: string): readonly CompiledFlux[] {
    return this.#index.byName.get(fluxName) ?? []
  }

  /**
   * Finds a service in the own package or, if that has none of the name, in the others; `ambiguous` if several of these
   * have one.
   */
  resolve(ownPackage: string, fluxName: string): CompiledFlux | undefined | 'ambiguous' {
    const found = this.findAnywhere(fluxName)
    return found.find((flux) => flux.package === ownPackage) ?? (found.length > 1 ? 'ambiguous' : found[0])
  }

  /** The services that the event starts, ordered by package and name. */
  triggeredBy(event: string): readonly CompiledFlux[] {
    return this.all().filter(({ triggers }) => triggers.some((trigger) => trigger.event === event))
  }

  /** The endpoints of all webhooks. */
  endpoints(): Endpoints {
    return this.#index.endpoints
  }

  /** Ordered by package and name. */
  all(): readonly CompiledFlux[] {
    return this.#index.all
  }

  /**
   * Services that are not loaded because their files have faults and no earlier version is known: `package/fluxName`,
   * sorted.
   */
  skipped(): readonly string[] {
    return this.#index.skipped
  }

  /** The file of a loaded service, below the folder of packages. */
  fileOf({ hash }: CompiledFlux): string {
    return this.#index.files.get(hash) ?? ''
  }

  /** Names of the packages, sorted. */
  packages(): readonly string[] {
    return this.#index.packages
  }

  /**
   * Returns the definition of that hash. `load` reads its stored text, unless it is a loaded one. Some of its states may
   * have faults.
   * @throws UnreadableDefinition when it is not stored, does not match its hash, has another format, or has no states. The next call loads
   * it again.
   */
  compiled(hash: string, load: () => Promise<string | null>): Promise<CompiledFlux> {
    const present = this.#index.byHash.get(hash)
    if (present !== undefined) return Promise.resolve(present)
    const pinned = this.#pinned.get(hash) ?? this.#restore(hash, load)
    if (this.#pinned.size === MAX_PINNED) this.#pinned.clear()
    this.#pinned.set(hash, pinned)
    return pinned
  }

  /**
   * Loads all files again, and replaces all services at once. A service that now has a fault keeps its last good
   * version; one whose file was deleted is removed. If a folder can't be read, nothing is replaced.
   */
  reload(): Promise<readonly Fault[]> {
    const reload = this.#reloading.then(async () => {
      const loaded = await loadFolders(this.#options, { whole: true })
      this.lastLoad = { loadedAt: Date.now(), faults: faultsOf(loaded, this.#options.folders) }
      if (!loaded.complete) {
        this.#options.log?.warn("services are not reloaded: a folder of packages can't be read")
        return loaded.faults
      }
      this.#index = indexOf(loaded, this.#options.folders, this)
      this.#pinned.clear()
      this.generation += 1
      return loaded.faults
    })
    this.#reloading = reload.catch(() => {})
    return reload
  }

  async #restore(hash: string, load: () => Promise<string | null>): Promise<CompiledFlux> {
    try {
      const text = await load()
      if (text === null) throw new UnreadableDefinition(`the definition ${hash} is not stored`)
      if (hashOf(text) !== hash) throw new UnreadableDefinition(`the definition stored as ${hash} is another one`)
      const flux = recompile(text)
      if (flux.faults.length > 0) this.#report(hash, BROKEN, flux.faults)
      // Securing a service also secures its running contexts.
      return this.find(flux.package, flux.fluxName)?.secured ? { ...flux, secured: true } : flux
    } catch (error) {
      this.#pinned.delete(hash)
      if (error instanceof UnreadableDefinition)
        this.#report(hash, error.isForeign ? FOREIGN : UNREADABLE, [error.message])
      throw error
    }
  }

  /** Logs the faults of a definition once. */
  #report(definition: string, message: string, faults: readonly string[]) {
    if (this.#reported.has(definition)) return
    this.#reported.add(definition)
    this.#options.log?.warn(message, { definition, faults })
  }
}

const FOREIGN = 'a definition has another format: its contexts do not run on this server'
const BROKEN =
  "a definition that contexts were started with can't be compiled any more: they fail when they act in states with faults"
const UNREADABLE = "a definition that contexts were started with can't be read"

/** The loaded services at one time, indexed by name and hash. One with a fault keeps its version before. */
function indexOf(
  { packages, services }: LoadedFolders,
  folders: readonly string[],
  before: Pick<Catalog, 'find'> | null,
) {
  const current = services.map(({ package: owner, fluxName, file, flux }) => ({
    name: `${owner}/${fluxName}`,
    file: pathBelow(folders, file),
    flux: flux ?? before?.find(owner, fluxName),
  }))
  const all = current.flatMap(({ flux }) => flux ?? []).sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
  const byName = new Map<string, readonly CompiledFlux[]>()
  for (const flux of all) byName.set(flux.fluxName, [...(byName.get(flux.fluxName) ?? []), flux])
  return {
    all,
    byName,
    byHash: new Map(all.map((flux) => [flux.hash, flux])),
    files: new Map(current.map(({ flux, file }) => [flux?.hash, file])),
    endpoints: new Endpoints(all),
    packages: [...new Set(packages.map(({ name }) => name))].sort(),
    skipped: current.flatMap(({ name, flux }) => (flux ? [] : [name])).sort(),
  }
}

const orderOf = ({ package: owner, fluxName }: CompiledFlux) => `${owner}\0${fluxName}`
