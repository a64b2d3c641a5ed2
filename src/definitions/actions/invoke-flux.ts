// definitions/actions: starts another service as a child context, and waits until it ends.
import { z } from 'zod'
import { getOwn } from '../../model/json/value.ts'
import { suggestion } from '../../model/nearest.ts'
import { ACTION_INPUTS, ACTION_OUTPUTS, ACTION_TIMEOUT, TEXT, STATE_NAME } from '../source/fields.ts'
import { take } from '../source/take.ts'
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
   * runs.
   */
  async check({ action, pointer, unit: { package: owner, report }, units }) {
    const name = textAt(action, 'name')
    const found = units.filter(({ fluxName }) => fluxName === name)
    const target = found.find((unit) => unit.package === owner) ?? (found.length === 1 ? found[0] : undefined)
    if (target?.source && (getOwn(target.source, 'key') ?? null) !== null)
      report.warn(`${pointer}/name`, `"${name}" has no key here: a child is kept with its parent`)
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
