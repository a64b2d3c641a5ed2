// definitions/actions: starts another service as a child context, and waits until it ends.
import { z } from 'zod'
import { getOwn } from '../../model/json/value.ts'
import { suggestion } from '../../model/nearest.ts'
import { LIST, STATE_NAME, take, TIMEOUT, TYPE } from '../source/schema.ts'
import { argumentLines, milliseconds, PLAIN, resultLines, textAt, type ActionType } from './action-type.ts'

const schema = z.object({ type: TYPE, name: STATE_NAME, inputs: LIST, outputs: LIST, timeout: TIMEOUT })

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
