// definitions/actions: starts another service as a child context, and waits until it ends.
import { z } from 'zod'
import { getOwn, isObject, type JsonObject } from '../../model/json/value.ts'
import { alternatives, suggestion } from '../../model/nearest.ts'
import type { CompiledFlux } from '../flux.ts'
import type { Report } from '../report.ts'
import { ACTION_INPUTS, ACTION_OUTPUTS, ACTION_TIMEOUT, TEXT, STATE_NAME } from '../source/fields.ts'
import { take } from '../source/take.ts'
import { descend } from '../values/properties.ts'
import { argumentLines, milliseconds, PLAIN, resultLines, textAt, type ActionType } from './action-type.ts'

const schema = z
  .object({
    type: TEXT,
    name: STATE_NAME.meta({ description: 'Name of the service, such as `orders.Order`.' }),
    inputs: ACTION_INPUTS,
    outputs: ACTION_OUTPUTS,
    timeout: ACTION_TIMEOUT.meta({ description: 'Seconds after which the child is ended, and the action fails.' }),
  })
  .meta({ title: 'Child', description: 'Starts another service as a child, and waits until it ends.' })

export const invokeFlux: ActionType = {
  name: 'invokeFlux',
  schema,
  compile(source, options) {
    const action = take(schema, source, options.pointer, options.report)
    return (
      action && {
        ...PLAIN,
        type: 'invokeFlux',
        effect: 'child',
        child: action.name,
        inputs: argumentLines(action.inputs, options),
        outputs: resultLines(action.outputs, options),
        timeoutMs: milliseconds(action.timeout),
      }
    )
  },
  /**
   * Warns if the service does not exist or is ambiguous. It is not a fault: the service may be added before the action
   * runs. Inputs that the service would refuse are faults.
   */
  async check({ action, pointer, unit: { package: owner, report }, units }) {
    const name = textAt(action, 'name')
    const found = units.filter(({ fluxName }) => fluxName === name)
    const target = found.find((unit) => unit.package === owner) ?? (found.length === 1 ? found[0] : undefined)
    if (target?.source && (getOwn(target.source, 'key') ?? null) !== null)
      report.warn(`${pointer}/name`, `"${name}" has no key here: a child is kept with its parent`)
    if (target?.flux) checkInputs(action, target.flux, `${pointer}/inputs`, report)
    if (name === '' || target?.package === owner) return
    if (found.length === 0)
      report.warn(
        `${pointer}/name`,
        `there is no service "${name}" now${suggestion(
          name,
          units.map(({ fluxName }) => fluxName),
        )}`,
      )
    if (found.length > 1)
      report.warn(
        `${pointer}/name`,
        `"${name}" could be that of ${found.map((unit) => `"${unit.package}"`).join(' or ')}`,
      )
  },
}

/** Reports inputs that the child does not declare, and required ones that no line sets. */
function checkInputs(action: JsonObject, child: CompiledFlux, pointer: string, report: Report): void {
  const { fluxName, input, allowExtraProperties } = child
  const lines = getOwn(action, 'inputs') ?? []
  const given = new Set<string>()
  for (const [index, line] of Array.isArray(lines) ? lines.entries() : []) {
    const to = isObject(line) ? getOwn(line, 'to') : null
    const [name, ...below] = Array.isArray(to) ? to.map(String) : []
    if (name === undefined) continue
    given.add(name)
    const property = input.properties.get(name)
    const found = property && descend(property, below)
    if (found?.ok === false) report.fault(`${pointer}/${index}/to`, `"${fluxName}": ${found.reason}`)
    if (found || allowExtraProperties) continue
    const instead = alternatives(name, input.properties.keys())
    report.fault(`${pointer}/${index}/to`, `"${fluxName}" has no input "${name}"${instead}`)
  }
  for (const { name, required, defaultValue } of input.properties.values())
    if (required && defaultValue === undefined && !given.has(name))
      report.fault(pointer, `"${fluxName}" requires the input "${name}", which no line sets`)
}
