// definitions: what is checked of services when they are loaded, besides what compiling them shows.
import { getOwn, isObject, type Json } from '../../model/json/value.ts'
import { SECRETS } from '../../model/secret-reference.ts'
import type { ServiceSecrets } from '../../ports/secrets.ts'
import type { CompiledState } from '../flux.ts'
import { RESERVED } from '../lines/names.ts'
import type { Report } from '../report.ts'
import { PropertySchema } from '../source/property-schema.ts'
import { checkKeys } from '../source/read.ts'

const NULL_IS_ACCEPTED = 'null is accepted all the same: add "allowNull": false, or true if it is meant'

/** Checks the keys of properties. `isGiven`: whether the values come from outside, where they are checked. */
export function checkProperties(
  list: readonly Json[] | Json | undefined,
  pointer: string,
  report: Report,
  isGiven: boolean,
): void {
  for (const [index, property] of (Array.isArray(list) ? list : []).entries()) {
    if (!isObject(property)) continue
    const at = `${pointer}/${index}`
    checkKeys(PropertySchema, property, report, at)
    if (property['name'] === SECRETS) report.fault(`${at}/name`, RESERVED)
    if (isGiven && property['required'] === true && (property['allowNull'] ?? '') === '')
      report.warn(`${at}/required`, NULL_IS_ACCEPTED)
    checkProperties(getOwn(property, 'gloopProperties'), `${at}/gloopProperties`, report, isGiven)
  }
}

/**
 * Warns of states that can't be reached from the start state. They are not faults, since a caller may start in any
 * state. To be called where nothing has a fault: it would not be known what leads where.
 */
export function checkReachable(states: readonly CompiledState[], start: number, report: Report): void {
  const reached = new Set([start])
  for (const index of reached) for (const { to } of states[index]?.transitions ?? []) reached.add(to)
  for (const { index, name } of states)
    if (!reached.has(index)) report.warn(`/states/${index}`, `"${name}" can't be reached from "${states[start]?.name}"`)
}

export interface SecretCheck {
  readonly secrets: Pick<ServiceSecrets, 'get' | 'fault'>
  /**
   * Whether the services are to run with these secrets. Otherwise they may run elsewhere, so that a missing secret is a
   * warning, and values are not judged.
   */
  readonly isServing: boolean
}

/** Checks that the secrets exist to which a service refers, and can be used where they are. */
export function checkSecrets(report: Report, { secrets, isServing }: SecretCheck): void {
  for (const { pointer, name, faultOf } of report.secrets) {
    const value = secrets.get(name)
    if (value === null) {
      const { reason, isTwofold } = secrets.fault(name)
      if (isServing || isTwofold) report.fault(pointer, reason)
      else report.warn(pointer, reason)
      continue
    }
    const fault = isServing && faultOf?.(value)
    if (fault) report.fault(pointer, `the secret ${name} can't be used here: ${fault}`)
  }
}
