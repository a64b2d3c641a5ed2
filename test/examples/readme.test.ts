import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { checkServices } from '../../src/main.ts'
import { readSettings, SETTINGS } from '../../src/settings.ts'
import { listExamples, SILENT } from './examples.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const readme = await readFile(join(ROOT, 'README.md'), 'utf8')
const rows = readme.split('\n').filter((line) => line.startsWith('|'))

test('the README lists every example', async () => {
  for (const name of await listExamples()) expect(readme).toContain(`[${name}](actors/examples/${name.replaceAll('.', '/')}.flux)`)
})

test('the README links only to what is there', () => {
  const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => link)
  expect(links.length).toBeGreaterThan(0)
  expect(links.filter((link) => !existsSync(join(ROOT, link)))).toEqual([])
})

test('the README lists every setting with its default', () => {
  for (const { variable, default: standard } of SETTINGS) {
    const row = rows.find((line) => line.startsWith('| `ACTORFLUX_') && line.includes(`\`${variable}\``))
    expect(row, variable).toContain(standard === null ? '–' : `\`${standard}\``)
  }
})

test('the README lists every problem with its status, and no other', async () => {
  const source = await readFile(join(ROOT, 'src/http/problem.ts'), 'utf8')
  const problems = [...source.matchAll(/status: (\d{3}), type: '([^']+)'/g)].map(([, status, type]) => `| ${status} | \`${type}\` |`)
  expect(problems.length).toBeGreaterThan(10)
  expect(rows.filter((line) => /^\| \d{3} \|/.test(line)).map((line) => line.split('|').slice(0, 3).join('|').concat('|')).sort()).toEqual(problems.sort())
})

test('the service that the README teaches with loads', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'actorflux-readme-'))
  await mkdir(join(folder, 'shop'))
  for (const file of ['Greeting.flux', 'greetings.ts']) {
    const after = readme.split(`\`actors/shop/${file}\`:`)[1]
    const [, block = ''] = /```\w+\n(.*?)```/s.exec(after ?? '') ?? []
    await writeFile(join(folder, 'shop', file), block)
  }
  const { services, report } = await checkServices(readSettings({ ACTORFLUX_ACTORS: folder }), { log: SILENT })
  await rm(folder, { recursive: true })
  expect(report).toEqual([])
  expect(services).toMatchObject([{ package: 'shop', fluxName: 'Greeting' }])
})
