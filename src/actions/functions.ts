// actions: finds functions, the built-in ones and those of the user's modules. A built-in class hides a module of the same name.
import { getOwn } from '../model/json.ts'
import type { FunctionName, PackageFolder } from '../ports/step-runner.ts'
import { builtInClasses, type Classes, type Method } from './builtin.ts'
import { Modules } from './modules.ts'

export class Functions {
  readonly #modules = new Modules()
  readonly #classes: Classes

  /** `allowPrivate`: requests over HTTP may go to addresses that aren't public. */
  constructor({ allowPrivate }: { readonly allowPrivate: boolean }) {
    this.#classes = builtInClasses({ allowPrivate })
  }

  /** Sets the packages and forgets all modules. */
  mount(packages: readonly PackageFolder[]): void {
    this.#modules.mount(packages)
  }

  /** @throws Error that says why there is no such function */
  async newest(name: FunctionName): Promise<Method> {
    return this.#builtIn(name) ?? this.#modules.method(name)
  }

  /** The function, or as it was before its module was broken. @throws Error that says why there is no such function */
  async lastGood(name: FunctionName): Promise<Method> {
    return this.#builtIn(name) ?? this.#modules.lastGood(name)
  }

  /** null: it is no built-in one. */
  #builtIn({ className, methodName }: FunctionName): Method | null {
    const builtIn = getOwn(this.#classes, className)
    if (builtIn === undefined) return null
    const method = getOwn(builtIn, methodName)
    if (method === undefined) throw new Error(`the built-in class "${className}" has no method "${methodName}": it has ${Object.keys(builtIn).join(', ')}`)
    return method
  }
}
