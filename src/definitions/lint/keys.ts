// definitions: reports unknown keys in property declarations and lines.
import { getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { SECRETS } from '../../model/secret-reference.ts'
import { RESERVED } from '../lines/secret-reference.ts'
import type { Report } from '../report.ts'
import { PropertySchema } from '../source/property-schema.ts'
import { LineSchema } from '../source/schema.ts'
import { checkUnknown } from '../source/take.ts'

const NULL_IS_ACCEPTED = 'null is accepted all the same: add "allowNull": false, or true if it is meant'

/** Checks the keys of a service's properties and lines. `take` checks those of the other objects. */
export function checkKeys(source: JsonObject, report: Report): void {
  checkData(source, '', report)
  each(getOwn(source, 'states'), '/states', (state, at) => {
    checkData(state, at, report)
    each(getOwn(state, 'transitions'), `${at}/transitions`, (transition, below) =>
      checkLines(transition, ['lines'], below, report),
    )
    const action = getOwn(state, 'action')
    if (isObject(action)) checkLines(action, ['lines', 'inputs', 'outputs'], `${at}/action`, report)
  })
}

/** Checks the keys of the properties in a .model file. */
export function checkModelKeys(source: JsonObject, report: Report): void {
  checkProperties(getOwn(source, 'gloopProperties'), '/gloopProperties', report)
}

function checkData(source: JsonObject, pointer: string, report: Report): void {
  for (const key of ['input', 'output']) {
    const at = `${pointer}/${key}`
    checkProperties(getOwn(source, key), at, report, key === 'input')
    each(getOwn(source, key), at, (property, below) => {
      if (getOwn(property, 'name') === SECRETS) report.fault(`${below}/name`, RESERVED)
    })
  }
}

/** `isGiven`: whether the values come from outside, where they are checked. */
function checkProperties(list: Json | undefined, pointer: string, report: Report, isGiven = true): void {
  each(list, pointer, (property, at) => {
    checkUnknown(PropertySchema, property, at, report)
    if (isGiven && getOwn(property, 'required') === true && (getOwn(property, 'allowNull') ?? '') === '')
      report.warn(`${at}/required`, NULL_IS_ACCEPTED)
    checkProperties(getOwn(property, 'gloopProperties'), `${at}/gloopProperties`, report, isGiven)
  })
}

function checkLines(source: JsonObject, keys: readonly string[], pointer: string, report: Report): void {
  for (const key of keys)
    each(getOwn(source, key), `${pointer}/${key}`, (line, at) => checkUnknown(LineSchema, line, at, report))
}

function each(list: Json | undefined, pointer: string, visit: (entry: JsonObject, pointer: string) => void): void {
  if (Array.isArray(list)) list.forEach((entry, index) => isObject(entry) && visit(entry, `${pointer}/${index}`))
}
