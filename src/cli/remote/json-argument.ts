// cli/remote: JSON that is given on the command line: as it is, in a file (`@file`), or on standard input (`-`).
import { readFile } from 'node:fs/promises'
import { messageOf } from '../../model/error-message.ts'
import { isObject, type JsonObject } from '../../model/json/value.ts'
import { UsageError, type World } from '../command.ts'

/** @throws UsageError when it is no JSON object, or the file can't be read */
export async function jsonArgumentOf(text: string, option: string, world: World): Promise<JsonObject> {
  const value = parsed(await contentOf(text, option, world), option)
  if (isObject(value)) return value
  throw new UsageError(`--${option} must be a JSON object`)
}

async function contentOf(text: string, option: string, world: World): Promise<string> {
  if (text === '-') return world.input()
  if (!text.startsWith('@')) return text
  try {
    return await readFile(text.slice(1), 'utf8')
  } catch (error) {
    throw new UsageError(`--${option}: ${messageOf(error)}`)
  }
}

function parsed(text: string, option: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`--${option} is no JSON: ${messageOf(error)}`)
  }
}
