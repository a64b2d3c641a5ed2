// definitions: the services that are there now, and those that running contexts were started with.
import type { Log } from '../ports/log.ts'
import type { StepRunner } from '../ports/step-runner.ts'
import { recompile } from './compile/service.ts'
import { loadFolders, type LoadedFolders, type LoadOptions } from './loader.ts'
import { UnreadableDefinition } from './definition-error.ts'
import { Endpoints } from './endpoints.ts'
import type { CompiledFlux } from './flux.ts'
import { hashOf } from './pinned/text.ts'
import type { Fault } from './report.ts'

export interface CatalogOptions {
  readonly folders: readonly string[]
  readonly runner: StepRunner
  readonly log?: Log | undefined
}

export interface OpenedCatalog {
  readonly catalog: Catalog
  /** Faults and warnings of all files. A service with a fault is not in the catalog. */
  readonly report: readonly Fault[]
  /** False when a folder can't be read. */
  readonly complete: boolean
}

/** Loads all packages. Never fails for what is in the files: that stands in the report. */
export async function openCatalog({ folders, runner, log }: CatalogOptions): Promise<OpenedCatalog> {
  const loaded = await loadFolders({ folders, runner }, { whole: false })
  return { catalog: new Catalog({ folders, runner }, loaded, log), report: loaded.faults, complete: loaded.complete }
}

/** Old definitions kept compiled; more are compiled again when asked for. */
const MAX_PINNED = 256

export class Catalog {
  readonly #options: LoadOptions
  readonly #log: Log | undefined
  readonly #pinned = new Map<string, Promise<CompiledFlux>>()
  /** Definitions that aren't whole, by hash, of which the log was told. */
  readonly #reported = new Set<string>()
  #generation = 0
  #index: Index
  #reloading: Promise<unknown> = Promise.resolve()

  constructor(options: LoadOptions, loaded: LoadedFolders, log: Log | undefined) {
    this.#options = options
    this.#log = log
    this.#index = new Index(loaded, null)
  }

  /** Raised by each reload that is taken over: what was compiled before may be told otherwise now. */
  get generation(): number {
    return this.#generation
  }

  find(packageName: string, fluxName: string): CompiledFlux | undefined {
    return this.findAnywhere(fluxName).find((flux) => flux.package === packageName)
  }

  /** The services of that name, ordered by package. */
  findAnywhere(fluxName: string): readonly CompiledFlux[] {
    return this.#index.byName.get(fluxName) ?? []
  }

  /** Sought in the own package first; elsewhere it must be the only one of that name. */
  resolve(ownPackage: string, fluxName: string): CompiledFlux | undefined | 'ambiguous' {
    const found = this.findAnywhere(fluxName)
    return found.find((flux) => flux.package === ownPackage) ?? (found.length > 1 ? 'ambiguous' : found[0])
  }

  /** The services that the event starts, ordered by package and name. */
  triggeredBy(event: string): readonly CompiledFlux[] {
    return this.#index.byTrigger.get(event) ?? []
  }

  /** The paths of webhooks. */
  endpoints(): Endpoints {
    return this.#index.endpoints
  }

  /** Ordered by package and name. */
  all(): readonly CompiledFlux[] {
    return this.#index.all
  }

  /**
   * Services that don't run, since their files have faults and no earlier version of them is known: `package/fluxName`,
   * sorted.
   */
  skipped(): readonly string[] {
    return this.#index.skipped
  }

  /** Names of the packages, sorted. */
  packages(): readonly string[] {
    return this.#index.packages
  }

  /**
   * The definition under that hash; `load` gives its stored text, if it isn't one of those that are there now. Parts of
   * it may fail when they are reached (`faults`).
   * @throws UnreadableDefinition when it isn't stored, isn't what was stored, or has no states; the store is asked
   * again the next time
   */
  compiled(hash: string, load: () => Promise<string | null>): Promise<CompiledFlux> {
    const present = this.#index.byHash.get(hash)
    if (present !== undefined) return Promise.resolve(present)
    const pinned = this.#pinned.get(hash) ?? this.#restore(hash, load)
    this.#pinned.delete(hash)
    this.#pinned.set(hash, pinned)
    const [oldest] = this.#pinned.keys()
    if (this.#pinned.size > MAX_PINNED && oldest !== undefined) this.#pinned.delete(oldest)
    return pinned
  }

  /**
   * Reads everything again and takes it over in one go. A service that has a fault now stays as it was; one whose file
   * is gone vanishes, unless a folder can't be read.
   */
  reload(): Promise<readonly Fault[]> {
    const reload = this.#reloading.then(async () => {
      const loaded = await loadFolders(this.#options, { whole: true })
      if (!loaded.complete) {
        this.#log?.warn('all services stay as they were: a folder of theirs can not be read')
        return loaded.faults
      }
      this.#index = new Index(loaded, this.#index)
      this.#pinned.clear()
      this.#generation += 1
      this.#log?.info('services reloaded', {
        services: this.#index.all.length,
        broken: loaded.services.filter(({ flux }) => flux === null).length,
      })
      return loaded.faults
    })
    this.#reloading = reload.catch(() => {})
    return reload
  }

  async #restore(hash: string, load: () => Promise<string | null>): Promise<CompiledFlux> {
    try {
      const flux = readStored(hash, await load())
      if (flux.isNewer) this.#report(hash, NEWER, flux.faults)
      else if (flux.faults.length > 0) this.#report(hash, BROKEN, flux.faults)
      // Who closes a service closes its running contexts, too.
      return this.find(flux.package, flux.fluxName)?.secured ? { ...flux, secured: true } : flux
    } catch (error) {
      this.#pinned.delete(hash)
      if (error instanceof UnreadableDefinition) this.#report(hash, UNREADABLE, [error.message])
      throw error
    }
  }

  /** Tells the log once of a definition that isn't what it was. */
  #report(definition: string, message: string, faults: readonly string[]): void {
    if (this.#reported.has(definition)) return
    this.#reported.add(definition)
    this.#log?.warn(message, { definition, faults })
  }
}

const NEWER = 'a later version wrote a definition: its contexts are not carried on here'
const BROKEN = 'parts of a definition that contexts were started with fail when they are reached'
const UNREADABLE = "a definition that contexts were started with can't be read"

function readStored(hash: string, text: string | null): CompiledFlux {
  if (text === null) throw new UnreadableDefinition(`the definition ${hash} is not stored`)
  if (hashOf(text) !== hash) throw new UnreadableDefinition(`the definition stored as ${hash} is another one`)
  return recompile(text)
}

/** One moment's services, found by what they are asked for by. */
class Index {
  readonly all: readonly CompiledFlux[]
  readonly packages: readonly string[]
  readonly skipped: readonly string[]
  readonly byName: ReadonlyMap<string, readonly CompiledFlux[]>
  readonly byTrigger: ReadonlyMap<string, readonly CompiledFlux[]>
  readonly byHash: ReadonlyMap<string, CompiledFlux>
  readonly endpoints: Endpoints

  constructor({ packages, services }: LoadedFolders, before: Index | null) {
    const lastGood = (owner: string, fluxName: string) =>
      before?.byName.get(fluxName)?.find((flux) => flux.package === owner)
    this.all = services
      .flatMap(({ package: owner, fluxName, flux }) => flux ?? lastGood(owner, fluxName) ?? [])
      .sort((a, b) => compare(a.package, b.package) || compare(a.fluxName, b.fluxName))
    this.skipped = services
      .filter(({ package: owner, fluxName, flux }) => flux === null && lastGood(owner, fluxName) === undefined)
      .map(({ package: owner, fluxName }) => `${owner}/${fluxName}`)
      .sort()
    this.packages = [...new Set(packages.map(({ name }) => name))].sort()
    this.byName = group(this.all, ({ fluxName }) => [fluxName])
    this.byTrigger = group(this.all, ({ triggers }) => new Set(triggers.map(({ event }) => event)))
    this.endpoints = new Endpoints(this.all)
    this.byHash = new Map(this.all.map((flux) => [flux.hash, flux]))
  }
}

function group(
  all: readonly CompiledFlux[],
  keys: (flux: CompiledFlux) => Iterable<string>,
): ReadonlyMap<string, readonly CompiledFlux[]> {
  const groups = new Map<string, CompiledFlux[]>()
  for (const flux of all) {
    for (const key of keys(flux)) {
      const known = groups.get(key)
      if (known === undefined) groups.set(key, [flux])
      else known.push(flux)
    }
  }
  return groups
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
