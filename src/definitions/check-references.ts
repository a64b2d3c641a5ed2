// definitions: what a service names outside its own file: functions, other services, endpoints. Works on broken services too, so that one report tells all.
import { getOwn, isObject, type Json, type JsonObject } from '../model/json.ts'
import { suggestion } from '../model/nearest.ts'
import type { StepRunner } from '../ports/step-runner.ts'
import { compileWebhooks, endpointsOf } from './compile-webhooks.ts'
import { foreignHint } from './foreign.ts'
import { Report } from './report.ts'

export interface Unit {
  readonly package: string
  readonly fluxName: string
  /** null: its file can't be read. */
  readonly source: JsonObject | null
  readonly report: Report
}

/** Every function must be there when the server starts, not only when it is called. */
export async function checkFunctions({ package: owner, source, report }: Unit, runner: StepRunner): Promise<void> {
  for (const { action, pointer } of actionsOf(source, 'invokeCode')) {
    const [className, methodName] = [textOf(action, 'className'), textOf(action, 'methodName')]
    if (className === '' || methodName === '') continue
    const reason = await runner.missing({ package: owner, className, methodName })
    if (reason !== null) report.fault(pointer, reason)
  }
}

/** A script that can't be parsed would fail each time. */
export async function checkScripts({ source, report }: Unit, runner: StepRunner): Promise<void> {
  for (const { action, pointer } of actionsOf(source, 'script')) {
    const script = textOf(action, 'script')
    const reason = script === '' ? null : await runner.scriptFault(script)
    if (reason !== null) report.fault(`${pointer}/script`, `can't be parsed: ${reason}${foreignHint(script)}`)
  }
}

/** A service that isn't there now may come before it is run. */
export function checkChildren({ package: owner, source, report }: Unit, units: readonly Unit[]): void {
  for (const { action, pointer } of actionsOf(source, 'invokeFlux')) {
    const name = textOf(action, 'name')
    const found = units.filter(({ fluxName }) => fluxName === name)
    if (name === '' || found.some((unit) => unit.package === owner)) continue
    if (found.length === 0) report.warn(`${pointer}/name`, `there is no service "${name}" now${suggestion(name, units.map(({ fluxName }) => fluxName))}`)
    if (found.length > 1) report.warn(`${pointer}/name`, `"${name}" could be that of ${found.map((unit) => `"${unit.package}"`).join(' or ')}`)
  }
}

/** No two webhooks may be the same endpoint. The fault stands in both files, and names the other. */
export function checkEndpoints(units: readonly Unit[]): void {
  const taken = new Map<string, { unit: Unit; pointer: string }>()
  for (const unit of units) {
    for (const webhook of unit.source === null ? [] : compileWebhooks(unit.source, new Report(unit.report.file))) {
      const { pointer } = webhook
      for (const endpoint of endpointsOf(webhook)) {
        const other = taken.get(endpoint)
        if (other === undefined) taken.set(endpoint, { unit, pointer })
        else if (other.unit === unit) unit.report.warn(pointer, `${endpoint} is listed twice`)
        else clash(endpoint, other, { unit, pointer })
      }
    }
  }
}

function clash(endpoint: string, a: { unit: Unit; pointer: string }, b: { unit: Unit; pointer: string }): void {
  const name = ({ unit }: { unit: Unit }) => `"${unit.fluxName}" of package "${unit.package}" (${unit.report.file})`
  a.unit.report.fault(a.pointer, `webhook clash: ${endpoint} is also that of ${name(b)}`)
  b.unit.report.fault(b.pointer, `webhook clash: ${endpoint} is also that of ${name(a)}`)
}

function actionsOf(source: JsonObject | null, type: string): { action: JsonObject; pointer: string }[] {
  const states = source === null ? null : getOwn(source, 'states')
  return !Array.isArray(states) ? [] : states.flatMap((state, index) => {
    const action: Json | undefined = isObject(state) ? getOwn(state, 'action') : undefined
    return isObject(action) && getOwn(action, 'type') === type ? [{ action, pointer: `/states/${index}/action` }] : []
  })
}

function textOf(source: JsonObject, key: string): string {
  const value = getOwn(source, key)
  return typeof value === 'string' ? value : ''
}
