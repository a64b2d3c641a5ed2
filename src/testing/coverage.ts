// testing: which states and transitions of the services were taken, as commits report it.
import type { CompiledFlux, CompiledState, CompiledTransition } from '../definitions/flux.ts'
import type { Move } from '../model/context.ts'
import type { SignalledService } from '../ports/signals.ts'
import type { CoverageReport, ServiceCoverage } from './types.ts'

export class Coverage {
  /** By service: names of states, and keys of transitions. */
  readonly #taken = new Map<string, Set<string>>()

  note(service: SignalledService, made: readonly Move[]): void {
    const name = pathOf(service)
    const taken = this.#taken.get(name) ?? new Set()
    this.#taken.set(name, taken)
    for (const { from, to, transition } of made) {
      taken.add(to)
      if (from !== null && transition !== undefined) taken.add(keyOf(from, transition))
    }
  }

  /** Whether the state was entered, or its transition of that index was taken. */
  isTaken(service: SignalledService, state: string, transition?: number): boolean {
    return this.#taken.get(pathOf(service))?.has(transition === undefined ? state : keyOf(state, transition)) ?? false
  }

  of(flux: CompiledFlux): ServiceCoverage {
    const states = flux.states.map((state) => ({ name: state.name, isTaken: this.isTaken(flux, state.name) }))
    const transitions = flux.states.flatMap((state) =>
      state.transitions.map((transition, index) => ({
        name: transitionName(flux, state, transition),
        isTaken: this.isTaken(flux, state.name, index),
      })),
    )
    return { states: split(states), transitions: split(transitions) }
  }

  report(services: readonly CompiledFlux[]): CoverageReport {
    return Object.fromEntries(services.map((flux) => [pathOf(flux), this.of(flux)]))
  }
}

export const pathOf = ({ package: owner, fluxName }: SignalledService): string => `${owner}/${fluxName}`

/** No name has a line feed before a number. */
const keyOf = (state: string, transition: number) => `${state}\n${transition}`

function transitionName(flux: CompiledFlux, { name }: CompiledState, { event, wait, to }: CompiledTransition) {
  const when = event ?? (wait ? 'wait' : null)
  return `${name} → ${flux.states[to]?.name ?? ''}${when === null ? '' : ` (${when})`}`
}

function split(all: readonly { readonly name: string; readonly isTaken: boolean }[]) {
  const names = (wanted: boolean) => all.filter(({ isTaken }) => isTaken === wanted).map(({ name }) => name)
  return { taken: names(true), never: names(false) }
}
