// model: how a service is named where all are meant: `package/fluxName`, or by its name alone where only one has it.

export interface NamedService {
  /** Left out: whichever package has a service of that name. */
  readonly package?: string | undefined
  readonly fluxName: string
}

/** The package and the name of a service. No name has a slash, and a package that is given beside the name counts. */
export function serviceNameOf({ package: given, fluxName }: NamedService): NamedService {
  const slash = given === undefined ? fluxName.lastIndexOf('/') : -1
  return slash < 0
    ? { package: given, fluxName }
    : { package: fluxName.slice(0, slash), fluxName: fluxName.slice(slash + 1) }
}
