// definitions/actions: the types of actions, and the compilation of an action by its type.
import { getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { alternatives } from '../../model/nearest.ts'
import type { StepRunner } from '../../ports/steps.ts'
import type { CompiledAction } from '../flux.ts'
import { actionHint } from '../expressions/foreign.ts'
import { actionsOf, PLAIN, type ActionOptions, type ActionType, type Unit } from './action-type.ts'
import { invokeCode } from './invoke-code.ts'
import { invokeFlux } from './invoke-flux.ts'
import { map } from './map.ts'
import { script } from './script.ts'

/** By name. */
export const ACTION_TYPES: ReadonlyMap<Json, ActionType> = new Map(
  [map, invokeCode, invokeFlux, script].map((type) => [type.name, type]),
)

/** The type of an action; `map` if it names none. */
const typeOf = (source: JsonObject): ActionType | undefined => ACTION_TYPES.get(getOwn(source, 'type') || map.name)

/** Compiles an action. After a fault that leaves nothing to compile, it does nothing. */
export function compileAction(source: JsonObject, options: ActionOptions): CompiledAction {
  const nothing: CompiledAction = { ...PLAIN, type: 'map' }
  const type = typeOf(source)
  if (type) return type.compile(source, options) ?? nothing
  const name = getOwn(source, 'type')
  options.report.fault(`${options.pointer}/type`, `unknown action type ${JSON.stringify(name)}${instead(name)}`)
  return nothing
}

function instead(type: Json | undefined): string {
  const names = [...ACTION_TYPES.values()].map(({ name }) => name)
  if (typeof type !== 'string') return alternatives('', names)
  const hint = actionHint(type)
  return hint === null ? alternatives(type, names) : `: ${hint}`
}

/**
 * Checks that the functions, scripts and services that the actions of a service name are usable. The service may have
 * faults.
 */
export async function checkActions(unit: Unit, units: readonly Unit[], runner: StepRunner): Promise<void> {
  for (const { action, pointer } of actionsOf(unit.source))
    await typeOf(action)?.check?.({ action, pointer, unit, units, runner })
}
