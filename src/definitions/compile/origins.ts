// definitions: where the lines of a service may carry parts of the request to. Worked out once for a service, when
// somebody first looks at a context that has a request.
import { isSecretName } from '../../model/secret-names.ts'
import {
  expressionOrigins,
  laidAt,
  memberOrigins,
  mixed,
  NO_ORIGINS,
  returned,
  tidy,
  type Lookup,
  type RequestOrigin,
  type Origins,
} from '../expressions/origins.ts'
import type { Template } from '../expressions/expression.ts'
import type { CompiledFlux, CompiledState } from '../flux.ts'
import type { Line, Lines } from './line.ts'

export { memberOrigins, type RequestOrigin as Origin, type Origins } from '../expressions/origins.ts'

/** A place that holds a value of the context. `index`: of a state. */
export type OriginPlace =
  | { readonly of: 'input' | 'output'; readonly name: string }
  | { readonly of: 'stateInput' | 'stateOutput' | 'args'; readonly index: number; readonly name: string }
  | { readonly of: 'event' | 'response' | 'tags' | 'key' }
  /** What the action of a state gave; why it failed; why a line of the state failed. */
  | { readonly of: 'result' | 'error' | 'lineError'; readonly index: number }

export interface CarriedOrigins {
  /** What may lie there. */
  at(place: OriginPlace): Origins
  /** Names of the arguments of a state's action that carry something. */
  arguments(index: number): readonly string[]
  /** All arguments of a state's action together, as the action may tell of them. */
  told(index: number): Origins
}

/** What the inputs of a service carry when it starts, by name. */
export type Seed = ReadonlyMap<string, Origins>

/** Rounds after which no more is found out: each place has been passed on from many times. */
const MOST_ROUNDS = 100
/** Built-in functions that pass on what they are given as it is. */
const PASSES_ON = /(?:^|\.)(?:Errors|GloopMethods|Logger|LoggerMethods)$/

/** What a definition that isn't whole carried before is not known: everything may be everywhere. */
const ANYTHING: Origins = [
  { at: [], path: [], kind: 'whole' },
  { at: [], path: [], kind: 'cut' },
]

const known = new WeakMap<CompiledFlux, Map<string, CarriedOrigins>>()
/** Seeds of one service that are remembered. */
const MOST_SEEDS = 50

export function carriedIn(flux: CompiledFlux, seed: Seed, hasRequest: boolean): CarriedOrigins {
  if (flux.faults.length > 0) return anywhereIn(flux)
  const ofFlux = known.get(flux) ?? new Map<string, CarriedOrigins>()
  known.set(flux, ofFlux)
  const key = JSON.stringify([hasRequest, [...seed]])
  const found = ofFlux.get(key) ?? new Tracing(flux, seed, hasRequest)
  if (ofFlux.size >= MOST_SEEDS) ofFlux.clear()
  ofFlux.set(key, found)
  return found
}

const anywhereIn = ({ states }: CompiledFlux): CarriedOrigins => ({
  at: () => ANYTHING,
  told: () => ANYTHING,
  arguments: (index) => [...new Set(states[index]?.action.inputs.flatMap(({ path: [name] }) => name ?? []))],
})

/** Inputs that a webhook fills from a header, a query or a path parameter of a name that says that it is a secret. */
export function webhookSeed({ input }: CompiledFlux): Seed {
  const names = [...input.properties.keys()].filter(isSecretName)
  return new Map(names.map((name) => [name, [whole('parameters', name), whole('headers', name.toLowerCase())]]))
}

const whole = (...path: string[]): RequestOrigin => ({ at: [], path, kind: 'whole' })

const keyOf = (place: OriginPlace): string => JSON.stringify(Object.values(place))
const REQUEST: Origins = [whole()]

class Tracing implements CarriedOrigins {
  readonly #flux: CompiledFlux
  readonly #places = new Map<string, Origins>()
  readonly #hasRequest: boolean
  readonly #arguments = new Map<number, Set<string>>()
  #changed = true

  constructor(flux: CompiledFlux, seed: Seed, hasRequest: boolean) {
    this.#flux = flux
    this.#hasRequest = hasRequest
    for (const [name, origins] of seed) this.#add({ of: 'input', name }, origins)
    const lookup: Lookup = (name) => (name === '$request' ? this.#request : this.at({ of: 'input', name }))
    const inTemplates = (templates: readonly Template[]): Origins =>
      mixed(
        templates.flatMap(({ placeholders }) => placeholders.flatMap((source) => expressionOrigins(source, lookup))),
      )
    this.#add({ of: 'tags' }, inTemplates(flux.tags))
    this.#add({ of: 'key' }, inTemplates(flux.key === null ? [] : [flux.key]))
    for (let round = 0; this.#changed && round < MOST_ROUNDS; round += 1) {
      this.#changed = false
      for (const state of flux.states) this.#trace(state)
    }
  }

  at(place: OriginPlace): Origins {
    return this.#places.get(keyOf(place)) ?? NO_ORIGINS
  }

  told(index: number): Origins {
    const action = this.#flux.states[index]?.action
    const given = this.at({ of: 'args', index, name: '' })
    return action?.code && PASSES_ON.test(action.code.className) ? mixed(given) : returned(given)
  }

  arguments(index: number): readonly string[] {
    return [...(this.#arguments.get(index) ?? [])]
  }

  get #request(): Origins {
    return this.#hasRequest ? REQUEST : NO_ORIGINS
  }

  #add(place: OriginPlace, origins: Origins): void {
    if (origins.length === 0) return
    const key = keyOf(place)
    const before = this.#places.get(key) ?? NO_ORIGINS
    const after = tidy([...before, ...origins])
    if (JSON.stringify(after) === JSON.stringify(before)) return
    this.#places.set(key, after)
    this.#changed = true
    if (place.of !== 'args' || place.name === '') return
    const names = this.#arguments.get(place.index) ?? new Set()
    this.#arguments.set(place.index, names.add(place.name))
  }

  #trace(state: CompiledState): void {
    const { index, action, transitions } = state
    if (action.effect === null) this.#lines(action.outputs, { index })
    else {
      if (action.script !== null) this.#add({ of: 'args', index, name: '' }, this.#mentioned(action.script, state))
      this.#lines(action.inputs, { index })
      const told = this.told(index)
      this.#add({ of: 'result', index }, told)
      this.#add({ of: 'error', index }, told)
      this.#lines(action.outputs, { index, seesResult: true })
    }
    for (const { lines, to, wait } of transitions) {
      this.#lines(lines, { index, target: to })
      const lookup: Lookup = (name) => this.#lookup(index, name, NOTHING)
      const read = (wait?.value.placeholders ?? []).flatMap((source) => expressionOrigins(source, lookup))
      this.#add({ of: 'lineError', index }, mixed(read))
    }
  }

  /** What a script may see: what it names, or everything where it may have other ways to names. */
  #mentioned(script: string, { index, input, output }: CompiledState): Origins {
    const anything = /\b(?:names|this|globalThis|eval|Function|constructor|arguments)\b/.test(script)
    const shapes = [input, output, this.#flux.input, this.#flux.output]
    const names = [
      ...new Set([...shapes.flatMap(({ properties }) => [...properties.keys()]), '$fluxEvent', '$response']),
    ]
    const mentioned = names
      .filter((name) => anything || script.includes(name))
      .flatMap((name) => this.#lookup(index, name, NOTHING))
    const parts = [...script.matchAll(/\$request(?:\s*\??\.\s*([A-Za-z]\w*))?/g)].map(([, part]) => part)
    if (anything || parts.includes(undefined)) return [...mentioned, ...this.#request]
    return [...mentioned, ...parts.flatMap((part) => memberOrigins(this.#request, part ?? null))]
  }

  /** `target`: the state whose inputs the lines of a transition write. */
  #lines(
    lines: Lines,
    { index, target = index, seesResult = false }: { index: number; target?: number; seesResult?: boolean },
  ): void {
    const written = new Map<string, Origins>()
    for (const line of lines) {
      const origins = this.#carriedBy(line, (name) => {
        const seen = this.#lookup(index, name, written)
        return seesResult ? [...memberOrigins(this.at({ of: 'result', index }), name), ...seen] : seen
      })
      this.#add({ of: 'lineError', index }, mixed(origins))
      const laid = laidAt(line.place === 'response' ? line.path : line.path.slice(1), origins)
      const [name = ''] = line.path
      if (line.place !== 'response' && line.place !== 'fluxEvent')
        written.set(name, [...(written.get(name) ?? []), ...laid])
      for (const place of placesOf(line, name, index, target)) {
        this.#add(place, place.of === 'args' && place.name === '' ? laidAt([name], laid) : laid)
      }
    }
  }

  #carriedBy({ source }: Line, lookup: Lookup): Origins {
    if (source === null) return NO_ORIGINS
    if ('expression' in source) return expressionOrigins(source.expression, lookup)
    const [name = '', ...path] = source.from
    return path.reduce((origins, key) => memberOrigins(origins, key), lookup(name))
  }

  /** All that may be seen under a name: which of them is nearest depends on what has a value. */
  #lookup(index: number, name: string, written: ReadonlyMap<string, Origins>): Origins {
    switch (name) {
      case '$request':
        return this.#request
      case '$response':
        return this.at({ of: 'response' })
      case '$fluxEvent':
        return this.at({ of: 'event' })
      case '$fluxException':
        return [...this.at({ of: 'error', index }), ...this.at({ of: 'lineError', index })]
      case '$result':
        return this.at({ of: 'result', index })
    }
    return tidy([
      ...(written.get(name) ?? []),
      ...this.at({ of: 'stateOutput', index, name }),
      ...this.at({ of: 'stateInput', index, name }),
      ...this.at({ of: 'output', name }),
      ...this.at({ of: 'input', name }),
    ])
  }
}

const NOTHING: ReadonlyMap<string, Origins> = new Map()

/** The arguments of a call are kept by name for children, and together under no name. */
function placesOf({ place }: Line, name: string, index: number, target: number): OriginPlace[] {
  switch (place) {
    case 'stateOutput':
      return [{ of: 'stateOutput', index, name }]
    case 'serviceOutput':
      return [{ of: 'output', name }]
    case 'stateInput':
      return [{ of: 'stateInput', index: target, name }]
    case 'fluxEvent':
      return [{ of: 'event' }]
    case 'response':
      return [{ of: 'response' }]
    case 'args':
      return [
        { of: 'args', index, name },
        { of: 'args', index, name: '' },
      ]
  }
}
