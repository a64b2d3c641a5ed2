// A part of a page as text, made for a viewer at a time.
import { jsx, type FC } from 'hono/jsx'
import { ViewerContext } from '../../src/inspector/viewer.ts'
import { ANONYMOUS } from '../../src/model/caller.ts'
import { fakeApi } from '../http/support.ts'

export function onPage<Props extends object>(part: FC<Props>, props: Props, now: number): string {
  const value = {
    caller: ANONYMOUS,
    api: fakeApi().api,
    formToken: 't',
    hasSession: false,
    may: () => true,
    now,
    version: '1',
    origin: 'http://localhost',
  }
  const Part: FC = () => part(props)
  return String(jsx(ViewerContext.Provider, { value }, jsx(Part, {})))
}
