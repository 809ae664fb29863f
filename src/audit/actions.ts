/** Actions of the audit log that more than one file names: where the call is allowed, and where it is written down. */
export const ACTIONS = {
  linkIdentity: 'identity.link',
  publishScenario: 'scenario.publish',
  cloneScenario: 'scenario.clone',
  setProviders: 'auth_providers.set',
  rotateSecret: 'auth_providers.rotate_secret',
  testProvider: 'auth_providers.test',
  createSdkKey: 'sdk_key.create',
  readSdkKeys: 'sdk_key.read',
  createPlatformKey: 'platform_key.create',
  readPlatformKeys: 'platform_key.read',
  createOperatorToken: 'operator_token.create',
  createEnvironment: 'environment.create',
  renameProject: 'project.rename',
  readAuditLog: 'audit_log.read',
  exportPlayers: 'players.export',
} as const
