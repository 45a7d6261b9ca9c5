{{- define "evenkeel.name" -}}
{{- if contains "evenkeel" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-evenkeel" (.Release.Name | trunc 40 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "evenkeel.selector" -}}
app.kubernetes.io/name: evenkeel
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "evenkeel.labels" -}}
{{ include "evenkeel.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "evenkeel.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "evenkeel.claim" -}}
{{ .Values.volume.existingClaim | default (include "evenkeel.name" .) }}
{{- end }}

{{- /* The components that there are. */}}
{{- define "evenkeel.components" -}}
{{- $found := list "run" }}
{{- range $name := list "collect" "notify" "web" }}
{{- if (get $.Values $name).enabled }}{{ $found = append $found $name }}{{ end }}
{{- end }}
{{- sortAlpha $found | toJson }}
{{- end }}

{{- /* Answers of conditions are "yes" or nothing. */}}
{{- define "evenkeel.tablesOnVolume" -}}
{{- if not (contains "://" .Values.config.tables.path) }}yes{{ end }}
{{- end }}

{{- define "evenkeel.volumeIsShared" -}}
{{- if eq .Values.volume.accessMode "ReadWriteMany" }}yes{{ end }}
{{- end }}

{{- /* Whether a component mounts the volume: (list $ "run"). Without it a job's own notifier would not know what the
others have sent. So such a job only logs its pages. */}}
{{- define "evenkeel.mountsVolume" -}}
{{- $root := index . 0 }}{{ $name := index . 1 }}
{{- if eq $name "collect" }}{{ if not $root.Values.config.collector.failover_topic }}yes{{ end }}
{{- else if ne $name "run" }}yes
{{- else if or (include "evenkeel.tablesOnVolume" $root) (include "evenkeel.volumeIsShared" $root) }}yes
{{- end }}
{{- end }}

{{- /* Whether a component's pods must all run on the node of the volume: (list $ "run"). */}}
{{- define "evenkeel.boundToNode" -}}
{{- if and (include "evenkeel.mountsVolume" .) (not (include "evenkeel.volumeIsShared" (index . 0))) }}yes{{ end }}
{{- end }}

{{- define "evenkeel.port" -}}
{{ regexFind "[0-9]+$" . }}
{{- end }}

{{- define "evenkeel.tomlKey" -}}
{{- if regexMatch "^[A-Za-z0-9_-]+$" . }}{{ . }}{{ else }}{{ toJson . }}{{ end }}
{{- end }}

{{- /* A value as TOML. JSON's texts, numbers, true and false are those of TOML. */}}
{{- define "evenkeel.tomlValue" -}}
{{- if kindIs "map" . }}
{{- $pairs := list }}
{{- range $key, $value := . }}{{ $pairs = append $pairs (printf "%s = %s" (include "evenkeel.tomlKey" $key) (include "evenkeel.tomlValue" $value)) }}{{ end -}}
{ {{- $pairs | join ", " -}} }
{{- else if kindIs "slice" . }}
{{- $items := list }}
{{- range . }}{{ $items = append $items (include "evenkeel.tomlValue" .) }}{{ end -}}
[{{ $items | join ", " }}]
{{- else }}{{ toJson . }}
{{- end }}
{{- end }}

{{- /* A map as a TOML file: plain keys first, then a table for each map, and an array of tables for each list of maps. */}}
{{- define "evenkeel.toml" -}}
{{- range $key, $value := . }}
{{- if not (or (kindIs "map" $value) (and (kindIs "slice" $value) $value (kindIs "map" (first $value)))) }}
{{ include "evenkeel.tomlKey" $key }} = {{ include "evenkeel.tomlValue" $value }}
{{- end }}
{{- end }}
{{- range $key, $value := . }}
{{- if kindIs "map" $value }}

[{{ include "evenkeel.tomlKey" $key }}]
{{- range $inner, $one := $value }}
{{ include "evenkeel.tomlKey" $inner }} = {{ include "evenkeel.tomlValue" $one }}
{{- end }}
{{- else if and (kindIs "slice" $value) $value (kindIs "map" (first $value)) }}
{{- range $value }}

[[{{ include "evenkeel.tomlKey" $key }}]]
{{- range $inner, $one := . }}
{{ include "evenkeel.tomlKey" $inner }} = {{ include "evenkeel.tomlValue" $one }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The configuration, with the alert rules that the chart writes. */}}
{{- define "evenkeel.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if .Values.alerts }}{{ $_ := set $config.notify "alerts" "/etc/evenkeel/alerts.toml" }}{{ end }}
{{- if not .Values.web.enabled }}{{ $_ := unset $config "web" }}{{ end }}
{{- include "evenkeel.toml" $config | trim }}
{{- end }}

{{- /* Refuse a secret: (list "config" map). Its keys sound like those that evenkeel itself hides. */}}
{{- define "evenkeel.refuseSecrets" -}}
{{- $place := index . 0 }}
{{- range $key, $value := index . 1 }}
{{- $here := printf "%s.%s" $place $key }}
{{- if kindIs "map" $value }}{{ include "evenkeel.refuseSecrets" (list $here $value) }}
{{- else if kindIs "slice" $value }}
{{- range $value }}{{ if kindIs "map" . }}{{ include "evenkeel.refuseSecrets" (list $here .) }}{{ end }}{{ end }}
{{- else if and (kindIs "string" $value) $value }}
{{- if and (regexMatch "(?i)secret|passw|passphrase|token|jaas|credential|access[._]?key|private" $here) (not (regexMatch "(?i)(_file|file|location|provider|type|mechanism)$" $here)) (not (regexMatch `secret\.(env|file)$` $here)) }}
{{- fail (printf "%s would be in a ConfigMap, and sounds like a secret: name a Secret with a variable of the environment in secrets.environment (docs/configuration.md)" $here) }}
{{- end }}
{{- if regexMatch "://[^/@ ]+@" $value }}
{{- fail (printf "%s would be in a ConfigMap, and its address has a name or password: give it by the environment (docs/configuration.md)" $here) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Refuse what cannot work. Each message says what to change. */}}
{{- define "evenkeel.check" -}}
{{- $v := .Values }}{{ $config := $v.config }}
{{- if not $config.source.bootstrap_servers }}{{ fail "config.source.bootstrap_servers is empty: name Kafka's servers, as kafka-0.kafka:9092" }}{{ end }}
{{- if and $v.collect.enabled (not $config.collector.clusters) }}{{ fail "config.collector.clusters is empty: name the name servers of a cluster, as {prod: \"10.0.0.1:9876\"}; or set collect.enabled=false, and collect elsewhere" }}{{ end }}
{{- if ne (include "evenkeel.tablesOnVolume" .) (ternary "" "yes" (contains "://" $config.job.checkpoint)) }}{{ fail "config.tables.path and config.job.checkpoint must both be in an object store, or both be folders on the volume" }}{{ end }}
{{- $inHome := "^/var/lib/evenkeel/[^/]" }}
{{- range $key, $path := dict "config.tables.path" $config.tables.path "config.job.checkpoint" $config.job.checkpoint "config.notify.state" $config.notify.state "config.collector.state" $config.collector.state }}
{{- if and (not (contains "://" $path)) (not (regexMatch $inHome $path)) }}{{ fail (printf "%s is %s: only folders below /var/lib/evenkeel can be written to" $key $path) }}{{ end }}
{{- end }}
{{- $shared := include "evenkeel.volumeIsShared" . }}
{{- if and (gt (int $v.run.replicas) 1) (include "evenkeel.tablesOnVolume" .) (not $shared) }}{{ fail "run.replicas is more than 1, and the tables are on a volume of ReadWriteOnce, which no second node can mount: put config.tables.path and config.job.checkpoint into an object store, set volume.accessMode=ReadWriteMany, or run.replicas=1" }}{{ end }}
{{- if and $v.notify.enabled (gt (int $v.notify.replicas) 1) (not $shared) }}{{ fail "notify.replicas is more than 1, and notify.state is on a volume of ReadWriteOnce: set volume.accessMode=ReadWriteMany, or notify.replicas=1" }}{{ end }}
{{- if and (not $v.notify.enabled) (not (include "evenkeel.mountsVolume" (list . "run"))) }}{{ fail "notify.enabled is false, and run does not mount the volume with notify.state: nobody would be notified. Set notify.enabled=true, or volume.accessMode=ReadWriteMany" }}{{ end }}
{{- if and $v.collect.enabled (gt (int $v.collect.replicas) 1) (not $config.collector.failover_topic) }}{{ fail "collect.replicas is more than 1, and config.collector.failover_topic is empty: every client would be asked twice. Name a topic, or set collect.replicas=1" }}{{ end }}
{{- if and $v.web.enabled (not (or $config.web.users $config.web.proxies)) }}{{ fail "web.enabled, and nobody says who may read the pages: name a file of users in config.web.users, as /run/secrets/evenkeel/users of a Secret in secrets.files, or proxies in config.web.proxies; or set web.enabled=false (docs/web.md)" }}{{ end }}
{{- if $config.notify.alerts }}{{ fail "config.notify.alerts is written by the chart: put the alert rules into the value alerts" }}{{ end }}
{{- if $config.web.in_run }}{{ fail "config.web.in_run: the chart has a Deployment for the pages: set web.enabled=true instead" }}{{ end }}
{{- range $key, $listen := dict "config.web.listen" $config.web.listen "config.metrics.listen" $config.metrics.listen }}
{{- if regexMatch "^(127\\.|localhost|\\[::1\\])" $listen }}{{ fail (printf "%s is %s, which no probe reaches: as 0.0.0.0:%s" $key $listen (include "evenkeel.port" $listen)) }}{{ end }}
{{- end }}
{{- if eq (include "evenkeel.port" $config.web.listen) (include "evenkeel.port" $config.metrics.listen) }}{{ fail "config.web.listen and config.metrics.listen have the same port" }}{{ end }}
{{- if and $v.serviceMonitor.enabled $v.serviceMonitor.webToken.name $v.web.enabled (or $config.web.hosts (not $config.web.users)) }}{{ fail "serviceMonitor.webToken needs config.web.users, which has the token's hash, and no config.web.hosts, since Prometheus asks by the pod's address" }}{{ end }}
{{- if $v.networkPolicy.enabled }}
{{- $egress := $v.networkPolicy.egress }}
{{- if not $egress.kafka }}{{ fail "networkPolicy.egress.kafka is empty: name where Kafka is, as [{ports: [{port: 9092}]}]" }}{{ end }}
{{- if and $v.collect.enabled (not $egress.rocketmq) }}{{ fail "networkPolicy.egress.rocketmq is empty: name where name servers and brokers are, as [{ports: [{port: 9876}, {port: 10911}]}]" }}{{ end }}
{{- if and (not (include "evenkeel.tablesOnVolume" .)) (not $egress.objectStore) }}{{ fail "networkPolicy.egress.objectStore is empty, and the tables are in an object store: name where it is, as [{ports: [{port: 443}]}]" }}{{ end }}
{{- end }}
{{- include "evenkeel.refuseSecrets" (list "config" $config) }}
{{- include "evenkeel.refuseSecrets" (list "alerts" $v.alerts) }}
{{- end }}
