// definitions/actions: runs lines within the turn.
import { z } from 'zod'
import { compileLines } from '../lines/lines.ts'
import { TEXT, LINES } from '../source/fields.ts'
import { take } from '../source/take.ts'
import { PLAIN, type ActionType } from './action-type.ts'

const schema = z
  .object({
    type: TEXT,
    lines: LINES.meta({ description: 'Lines that write the outputs of the state and of the service.' }),
  })
  .meta({ title: 'Map', description: 'Runs lines.' })

export const map: ActionType = {
  name: 'map',
  schema,
  compile(source, { visible, resolve, pointer, report }) {
    const action = take(schema, source, pointer, report)
    return {
      ...PLAIN,
      type: 'map',
      outputs: compileLines(action?.lines ?? [], {
        visible,
        resolve,
        pointer: `${pointer}/lines`,
        of: 'the action',
        report,
      }),
    }
  },
}
