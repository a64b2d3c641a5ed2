// definitions/actions: runs lines within the turn.
import { z } from 'zod'
import { compileLines } from '../compile/lines.ts'
import { LIST, take, TYPE } from '../source/schema.ts'
import { PLAIN, type ActionType } from './action-type.ts'

const schema = z.object({ type: TYPE, lines: LIST })

export const map: ActionType = {
  name: 'map',
  schema,
  compile(source, { visible, resolve, pointer, report }) {
    const action = take(schema, source, pointer, report)
    return {
      ...PLAIN,
      type: 'map',
      outputs: compileLines(action?.lines ?? [], { visible, resolve, pointer: `${pointer}/lines`, report }),
    }
  },
}
