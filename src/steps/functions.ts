// steps: finds functions, the built-in ones and those of the user's modules. A built-in class hides a module of the
// same name.
import { getOwn } from '../model/json/value.ts'
import { suggestion } from '../model/nearest.ts'
import type { FunctionName, PackageFolder } from '../ports/step-runner.ts'
import { builtInClasses, type Classes, type BuiltinMethod } from './builtin/builtin.ts'
import { Modules } from './modules/modules.ts'
import type { UserError } from './modules/user-stack.ts'

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
  async newest(name: FunctionName): Promise<BuiltinMethod> {
    return this.#builtIn(name) ?? this.#modules.method(name)
  }

  /** The function, or as it was before its module was broken. @throws Error that says why there is no such function */
  async lastGood(name: FunctionName): Promise<BuiltinMethod> {
    return this.#builtIn(name) ?? this.#modules.lastGood(name)
  }

  /** What a class that isn't there was most likely meant to be, to follow a message. */
  async meant({ package: packageName, className }: FunctionName): Promise<string> {
    return suggestion(className, [...Object.keys(this.#classes), ...(await this.#modules.names(packageName))])
  }

  /** As `StepRunner.stackOf`. */
  stackOf(thrown: UserError, packageName: string): string | null {
    return this.#modules.stackOf(thrown, packageName)
  }

  /** null: it is no built-in one. */
  #builtIn({ className, methodName }: FunctionName): BuiltinMethod | null {
    const builtIn = getOwn(this.#classes, className)
    if (builtIn === undefined) return null
    const method = getOwn(builtIn, methodName)
    if (method === undefined) {
      const names = Object.keys(builtIn)
      throw new Error(
        `the built-in class "${className}" has no method "${methodName}"${suggestion(methodName, names)}: it has ${names.join(', ')}`,
      )
    }
    return method
  }
}
