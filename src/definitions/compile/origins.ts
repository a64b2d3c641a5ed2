// definitions: static analysis of where the lines of a service may copy parts of the request. It runs once for each
// service and seed, when a context that has a request is first viewed.
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

/** A place that holds a value of the context. `index` is that of a state. */
export type OriginPlace =
  | { readonly of: 'input' | 'output'; readonly name: string }
  | { readonly of: 'stateInput' | 'stateOutput' | 'args'; readonly index: number; readonly name: string }
  | { readonly of: 'event' | 'response' | 'tags' | 'key' }
  /** The result of a state's action; the error of the action; the error of a line of the state. */
  | { readonly of: 'result' | 'error' | 'lineError'; readonly index: number }

export interface CarriedOrigins {
  /** The origins of the value at a place. */
  at(place: OriginPlace): Origins
  /** Names of the arguments of a state's action that have origins. */
  arguments(index: number): readonly string[]
  /** The origins that the result, errors and log lines of a state's action may have, given all its arguments. */
  disclosed(index: number): Origins
}

/** Origins of the inputs of a service when it starts, by name. */
export type Seed = ReadonlyMap<string, Origins>

/** Maximum number of rounds of the analysis. By then, each place has been propagated many times. */
const MAX_ROUNDS = 100
/** Built-in classes whose functions return or log their arguments unchanged. */
const RETURNS_ARGUMENTS = /(?:^|\.)(?:Errors|GloopMethods|Logger|LoggerMethods)$/

/** Origins of every place of a definition with faults: its former lines are not known, so anything may be anywhere. */
const ANYTHING: Origins = [
  { at: [], path: [], kind: 'whole' },
  { at: [], path: [], kind: 'cut' },
]

const known = new WeakMap<CompiledFlux, Map<string, CarriedOrigins>>()
/** Maximum number of cached seeds of one service. */
const MAX_SEEDS = 50

export function carriedIn(flux: CompiledFlux, seed: Seed, hasRequest: boolean): CarriedOrigins {
  if (flux.faults.length > 0) return anywhereIn(flux)
  const ofFlux = known.get(flux) ?? new Map<string, CarriedOrigins>()
  known.set(flux, ofFlux)
  const key = JSON.stringify([hasRequest, [...seed]])
  const found = ofFlux.get(key) ?? new Tracing(flux, seed, hasRequest)
  if (ofFlux.size >= MAX_SEEDS) ofFlux.clear()
  ofFlux.set(key, found)
  return found
}

const anywhereIn = ({ states }: CompiledFlux): CarriedOrigins => ({
  at: () => ANYTHING,
  disclosed: () => ANYTHING,
  arguments: (index) => [...new Set(states[index]?.action.inputs.flatMap(({ path: [name] }) => name ?? []))],
})

/**
 * The inputs whose names are those of secrets. A webhook fills an input from the header, the query or the path
 * parameter of its name.
 */
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
      mixed(templates.flatMap(({ placeholders: all }) => all.flatMap((source) => expressionOrigins(source, lookup))))
    this.#add({ of: 'tags' }, inTemplates(flux.tags))
    this.#add({ of: 'key' }, inTemplates(flux.key === null ? [] : [flux.key]))
    for (let round = 0; this.#changed && round < MAX_ROUNDS; round += 1) {
      this.#changed = false
      for (const state of flux.states) this.#trace(state)
    }
  }

  at(place: OriginPlace): Origins {
    return this.#places.get(keyOf(place)) ?? NO_ORIGINS
  }

  disclosed(index: number): Origins {
    const action = this.#flux.states[index]?.action
    const given = this.at({ of: 'args', index, name: '' })
    return action?.code && RETURNS_ARGUMENTS.test(action.code.className) ? mixed(given) : returned(given)
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
      const disclosed = this.disclosed(index)
      this.#add({ of: 'result', index }, disclosed)
      this.#add({ of: 'error', index }, disclosed)
      this.#lines(action.outputs, { index, seesResult: true })
    }
    for (const { lines, to, wait } of transitions) {
      this.#lines(lines, { index, target: to })
      const lookup: Lookup = (name) => this.#lookup(index, name, NOTHING)
      const read = (wait?.value.placeholders ?? []).flatMap((source) => expressionOrigins(source, lookup))
      this.#add({ of: 'lineError', index }, mixed(read))
    }
  }

  /** Origins of what a script may access: the names in its text, or everything if it may access names indirectly. */
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

  /** Propagates the origins of lines. `target`: the state whose inputs the lines of a transition write. */
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

  /** Origins of all places that a name may refer to. Which one it is depends on which have a value at run time. */
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

/** The places that a line writes. Arguments are recorded by name, for children, and together under an empty name. */
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
