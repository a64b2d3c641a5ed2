// The Lua files hold what their headers promise: keys, arguments and every answer.
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PARTITION_KEYS } from '../../src/store/redis/keys.ts'

const FOLDER = resolve(import.meta.dirname, '../../src/store/redis/lua')
/** What a script can name a key by: functions and names of the common lines. */
const KEYS = [...PARTITION_KEYS.matchAll(/^local (?:function )?(\w+)/gm)]
  .map(([, name = '']) => name)
  .filter((name) => !['root', 'unowned', 'log_limit'].includes(name))
  .sort()
const files = readdirSync(FOLDER).filter((file) => file !== 'shared')

test('there are scripts, and keys to name', () => {
  expect(files.length).toBeGreaterThan(8)
  expect(files.filter((file) => !file.endsWith('.lua'))).toEqual([])
  expect(KEYS).toContain('context')
})

describe.each(files)('%s', (file) => {
  const text = readFileSync(resolve(FOLDER, file), 'utf8')
  const [first = '', ...lines] = text.split('\n')
  const end = lines.findIndex((line) => !line.startsWith('--'))
  const header = lines.slice(0, end).map((line) => line.slice(3))
  const code = lines.slice(end).join('\n').replace(/--.*$/gm, '')
  const strings = code.replace(/'[^']*'/g, "''")
  const section = (from: RegExp, to: RegExp) => {
    const start = header.findIndex((line) => from.test(line))
    const length = header.slice(start + 1).findIndex((line) => to.test(line))
    return start === -1 ? [] : header.slice(start, length === -1 ? undefined : start + 1 + length)
  }

  test('says first what it may do', () => {
    expect(first).toMatch(/^#!lua( flags=(no-writes|allow-oom))?$/)
    const writes = /'(?:HSET|HDEL|ZADD|ZREM|ZREMRANGEBYSCORE|ZUNIONSTORE|DEL|SET|INCRBY|RPUSH|LTRIM)'/.test(code)
    expect(first.includes('no-writes')).toBe(!writes)
    expect(header.join(' ').includes('when the memory is full')).toBe(first.includes('allow-oom'))
  })

  test('names the keys that it touches, and no others', () => {
    const named = section(/^Keys {2}/, /^(ARGV|$)/)
      .join(' ')
      .replace('Keys', '')
      .split(/[\s,]+/)
      .filter((name) => name !== '')
      .sort()
    // Not a field of a table, nor a name for a value.
    const touched = KEYS.filter((name) => new RegExp(`(?<![.\\w])${name}(?!\\w|\\s*=[^=])`).test(strings))
    expect(named).toEqual(touched)
    expect(code).not.toMatch(/\bKEYS\b|\broot\b|\{af:/)
  })

  test('tells all arguments', () => {
    const told = header.flatMap((line) => /^ARGV\[(\d+)(…?)\]/.exec(line)?.slice(1, 3).join('') ?? [])
    expect(told).toEqual(
      told.map((_, index) => `${index + 1}${index === told.length - 1 && told.at(-1)?.endsWith('…') ? '…' : ''}`),
    )
    const direct = [...strings.matchAll(/ARGV\[(\d+)\]/g)].map(([, index]) => Number(index))
    const unpacked = [...strings.matchAll(/unpack\(ARGV, 1, (\d+)\)/g)].flatMap(([, count]) =>
      Array.from({ length: Number(count) }, (_, index) => index + 1),
    )
    const used = new Set([...direct, ...unpacked])
    const fixed = told.filter((one) => !one.endsWith('…')).map(Number)
    expect([...used].filter((index) => !fixed.includes(index))).toEqual([])
    expect(fixed.filter((index) => !used.has(index))).toEqual([])
    const variable = told.some((one) => one.endsWith('…'))
    expect(/ARGV\[[a-z]|ipairs\(ARGV\)|#ARGV/.test(strings)).toBe(variable)
  })

  test('tells every answer, with its code', () => {
    const answers = section(/^Returns$/, /^$/).slice(1)
    expect(answers.length).toBeGreaterThan(0)
    const told = answers.flatMap((line) => /^ {2}\{(\d+)[,}]/.exec(line)?.[1] ?? []).sort()
    const given = [...new Set([...code.matchAll(/\breturn \{ (\d+)\b/g)].map(([, number = '']) => number))].sort()
    expect(told).toEqual(given)
  })
})
