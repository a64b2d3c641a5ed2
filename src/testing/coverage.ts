// testing: which states and transitions of the services were taken, as commits report it.
import type { CompiledFlux } from '../definitions/flux.ts'
import type { Move } from '../model/context.ts'
import type { SignalledService } from '../ports/signals.ts'
import type { ServiceCoverage } from './types.ts'

export class Coverage {
  readonly #taken = new Set<string>()

  note(service: SignalledService, made: readonly Move[]): void {
    for (const { from, to, transition } of made) {
      this.#taken.add(keyOf(service, to))
      if (from !== null && transition !== undefined) this.#taken.add(keyOf(service, from, transition))
    }
  }

  /** Whether the state was entered, or its transition of that index was taken. */
  isTaken(service: SignalledService, state: string, transition?: number): boolean {
    return this.#taken.has(keyOf(service, state, transition))
  }

  of(flux: CompiledFlux): ServiceCoverage {
    return {
      states: split(flux.states.map(({ name }) => [name, this.isTaken(flux, name)])),
      transitions: split(
        flux.states.flatMap(({ name, transitions }) =>
          transitions.map(({ event, wait, to }, index) => {
            const when = event ?? (wait ? 'wait' : null)
            const shown = `${name} → ${flux.states[to]?.name ?? ''}${when === null ? '' : ` (${when})`}`
            return [shown, this.isTaken(flux, name, index)] as const
          }),
        ),
      ),
    }
  }
}

export const pathOf = ({ package: owner, fluxName }: SignalledService): string => `${owner}/${fluxName}`

const keyOf = (service: SignalledService, state: string, transition?: number) =>
  JSON.stringify([pathOf(service), state, transition])

function split(all: readonly (readonly [name: string, isTaken: boolean])[]) {
  const names = (wanted: boolean) => all.flatMap(([name, isTaken]) => (isTaken === wanted ? name : []))
  return { taken: names(true), never: names(false) }
}
