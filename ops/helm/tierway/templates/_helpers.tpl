{{- define "tierway.labels" -}}
{{ include "tierway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
{{- define "tierway.selector" -}}
app.kubernetes.io/name: tierway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "tierway.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- define "tierway.container" -}}
image: {{ include "tierway.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - secretRef:
      name: {{ required "existingSecret must name a Secret with DATABASE_URL, TOKEN_KEYS and SECRETS_KEYS" .Values.existingSecret }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}
{{- define "tierway.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}
