// What is tested in a browser: every page with hostile data, what people do, and that pages are live. One server and one
// browser serve all of it, in this order: the first lists are those of the hostile contexts.
import { afterAll } from 'vitest'
import { cleanUp } from '../support/server.ts'
import { sharedInspected } from './browser/inspected.ts'
import './browser/every-page.ts'
import './browser/flows.ts'
import './browser/live.ts'

afterAll(async () => {
  await (await sharedInspected()).close()
  await cleanUp()
})
