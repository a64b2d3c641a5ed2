// A server's part in `notes.test.ts`: its event loop is blocked, first by what nothing can interrupt, then by a function,
// until the second note about that is being written. Prints what was done to the notes, in order.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Watchdog } from '../../src/watchdog/watchdog.ts'

const [, , file = ''] = process.argv
const done = () => readFileSync(file, 'utf8').split('\n').slice(0, -1)
writeFileSync(file, '')
const watchdog = new Watchdog()
const notes = { module: new URL('./slow-notes.mjs', import.meta.url).href, place: { file } }
watchdog.start({ after: 500, kill: 0, silence: null, logLevel: 'error', logFormat: 'json', notes })
while (done().length < 1) await sleep(20)
execFileSync('sh', ['-c', 'until grep -q "begins 1" "$0"; do sleep 0.1; done', file])
while (done().length < 4);
while (done().length < 6) await sleep(20)
watchdog.close()
process.stdout.write(JSON.stringify(done()))
