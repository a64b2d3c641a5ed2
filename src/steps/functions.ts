// steps: finds functions: built-in ones, and those of users' modules. A built-in class shadows a module of the same
// name.
import { getOwn } from '../model/json/value.ts'
import { suggestion } from '../model/nearest.ts'
import type { FunctionName, PackageFolder } from '../ports/steps.ts'
import { builtInClasses, type Classes, type BuiltinMethod } from './builtin/builtin.ts'
import { Modules } from './modules/modules.ts'
import type { UserError } from './modules/user-stack.ts'

export class Functions {
  readonly #modules = new Modules()
  readonly #classes: Classes

  /** `allowPrivate`: whether HTTP requests may connect to addresses that are not public. */
  constructor({ allowPrivate }: { readonly allowPrivate: boolean }) {
    this.#classes = builtInClasses({ allowPrivate })
  }

  /** Sets the packages, and discards all loaded modules. */
  mount(packages: readonly PackageFolder[]): void {
    this.#modules.mount(packages)
  }

  /** The function from the current source. @throws Error with the reason why it cannot be loaded */
  async newest(name: FunctionName): Promise<BuiltinMethod> {
    return this.#builtIn(name) ?? this.#modules.method(name)
  }

  /**
   * The function; if its module cannot be loaded, the version that was loaded last. @throws Error with the reason why
   * there is none
   */
  async lastGood(name: FunctionName): Promise<BuiltinMethod> {
    return this.#builtIn(name) ?? this.#modules.lastGood(name)
  }

  /** A suggestion of a similar class name, to append to a message; may be empty. */
  async meant({ package: packageName, className }: FunctionName): Promise<string> {
    return suggestion(className, [...Object.keys(this.#classes), ...(await this.#modules.names(packageName))])
  }

  /** As `StepRunner.stackOf`. */
  stackOf(thrown: UserError, packageName: string): string | null {
    return this.#modules.stackOf(thrown, packageName)
  }

  /** The built-in function; null: the class is not built-in. @throws Error if the class has no such method */
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
