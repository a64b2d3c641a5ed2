// definitions: warns of states that can't be reached.
import type { CompiledState } from '../flux.ts'
import type { Report } from '../report.ts'

/**
 * Warns of states that can't be reached from the start state. They are not faults, since a caller may start in any
 * state. To be called where nothing has a fault: it would not be known what leads where.
 */
export function checkReachable(states: readonly CompiledState[], start: number, report: Report): void {
  const byIndex = new Map(states.map((state) => [state.index, state]))
  const reached = new Set([start])
  for (const index of reached) {
    for (const { to } of byIndex.get(index)?.transitions ?? []) reached.add(to)
  }
  const first = byIndex.get(start)?.name
  for (const { index, name } of states) {
    if (!reached.has(index)) report.warn(`/states/${index}`, `"${name}" can't be reached from "${first}"`)
  }
}
