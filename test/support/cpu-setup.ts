import { readFileSync, appendFileSync } from 'node:fs'
import { afterAll, beforeAll, expect } from 'vitest'
const f = () => { const p = readFileSync('/proc/self/stat','utf8').split(') ')[1]!.split(' ').map(Number); return [p[11]!+p[12]!, p[13]!+p[14]!] }
const g = globalThis as any
const now = f()
const last = g.__cpu ?? [0,0]
let a = now
const t0 = Date.now()
beforeAll(() => { a = f() })
afterAll(() => { const b = f(); appendFileSync('/tmp/cpu.jsonl', JSON.stringify({ pid: process.pid, file: expect.getState().testPath, start: t0, wall: Date.now()-t0, imp: a[0]!-last[0]!, own: b[0]!-a[0]!, kids: b[1]!-last[1]! })+'\n'); g.__cpu = b })
