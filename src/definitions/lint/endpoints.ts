// definitions: no two services may have the same endpoint.
import type { Unit } from '../actions/action-type.ts'
import { compileWebhooks, endpointsOf } from '../compile/webhooks.ts'
import { Report } from '../report.ts'

/** Reports webhooks of different services with the same endpoint, in both files. Each fault names the other service. */
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
  a.unit.report.fault(a.pointer, `webhook clash: ${endpoint} is also that of ${nameOf(b.unit)}`)
  b.unit.report.fault(b.pointer, `webhook clash: ${endpoint} is also that of ${nameOf(a.unit)}`)
}

const nameOf = ({ package: owner, fluxName, report }: Unit): string =>
  `"${fluxName}" of package "${owner}" (${report.file})`
