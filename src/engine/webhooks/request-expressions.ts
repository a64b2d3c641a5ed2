// engine/webhooks: what a request gives: values of the endpoint's expressions over `$request`, and inputs of its service.
// No context exists yet.
import { randomUUID } from 'node:crypto'
import type { Expression, Scope, Turn } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import { messageOf } from '../../model/error-message.ts'
import { FluxError } from '../../model/failure.ts'
import { setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { WebhookCall } from '../../model/webhook.ts'

/** All expressions of one request share a budget, so that each request costs a bounded amount of work. */
export class RequestExpressions {
  readonly #scope: Scope

  constructor(request: JsonObject, now: number) {
    const turn: Turn = { now, random: Math.random, uuid: randomUUID }
    this.#scope = { turn, budget: new WorkBudget(), get: (name) => (name === '$request' ? request : undefined) }
  }

  /**
   * The value of the expression.
   * @param pointer where the expression stands in the webhook's entry
   * @throws FluxError `malformed` if it can't be worked out for this request
   */
  evaluate(expression: Expression, pointer: string): Json {
    try {
      return expression.evaluate(this.#scope)
    } catch (error) {
      return unfit(pointer, `can't be worked out: ${messageOf(error)}`)
    }
  }
}

/** @throws FluxError `malformed`: the request gives an expression a value that it must not have */
export function unfit(pointer: string, detail: string): never {
  const errors = [{ pointer, detail }]
  throw new FluxError({ kind: 'malformed', detail: `${pointer} of the webhook ${detail}`, errors })
}

/**
 * A key as text. Whole numbers beyond 2^53 − 1 are none: parsing has rounded them, so different ones are equal by now.
 * @throws FluxError `malformed`
 */
export function keyTextOf(value: string | number | boolean, pointer: string): string {
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return unfit(pointer, 'must be exact, and is a number beyond 2^53 - 1: those must come as text')
  return String(value)
}

/** The inputs that a request gives a service, by their names. Only declared inputs are set. An array takes all values of its name, any other type the last one. */
export function webhookInputOf({ input }: CompiledFlux, textsOf: WebhookCall['textsOf']): JsonObject {
  const given: JsonObject = {}
  for (const [name, { array }] of input.properties) {
    const texts = textsOf(name)
    const last = texts.at(-1)
    if (last !== undefined) setOwn(given, name, array ? [...texts] : last)
  }
  return given
}
